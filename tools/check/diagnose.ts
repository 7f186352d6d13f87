import { isRedirect } from '../../src/protocol/redirect.ts'
import { findHint } from '../wire/find-hint.ts'
import { showTarget } from '../wire/target.ts'
import type { Answer, Verdict } from './case.ts'
import { holdBack } from './cases/send-at-once.ts'
import { FORGED } from './maker.ts'
import { type CheckResult, type Diagnosis, LATE } from './report.ts'
import type { RunScene } from './scene.ts'
import { describe, findPutOff, isRefusal, isSuccess } from './verdict.ts'
import { readSettled } from './work.ts'
import { FAIL_AS_WELL, listWrongForms } from './wrong-forms.ts'

export interface Judged extends Verdict, Pick<CheckResult, 'id' | 'group'> {}

/** Reason why a plain delivery is not accepted, or no longer is. */
export interface Finding {
  readonly code: Diagnosis['code']
  readonly text: string
  /** True if there is no receiver whose other answers could be judged. */
  readonly isAbsent: boolean
  /** Signature checks that fail because of the same mistake. */
  readonly also: readonly string[]
}

/** Sends a plain delivery again and, if it is refused again, in the forms that receivers with common mistakes accept. */
export async function diagnose(scene: RunScene): Promise<Finding | undefined> {
  const { make, send, target } = scene
  const answer = await send(make.delivery(make.event()))
  if (isSuccess(answer)) return undefined
  const code = toCode(answer)
  const isAnswered = (isRefusal(answer) && code !== 'put_off') || code === 'server_error'
  const refused = isAnswered ? await findRefusedEvent(scene, answer) : undefined
  if (refused !== undefined) return refused
  if (!REFUSALS.includes(code)) return { code, text: toAbsence(answer, target), isAbsent: true, also: [] }
  const isOpen = isSuccess(await send(make.delivery(make.event(), { signature: () => undefined })))
  const mistake = await findMistake(scene, isOpen)
  return mistake ?? { code, text: toText(code, answer, scene, isOpen), isAbsent: false, also: [] }
}

function toAbsence(answer: Answer, target: URL): string {
  const { status, failureKind } = answer
  if (failureKind === 'timeout')
    return `${describe(answer)}. Acknowledge first, or do less before the answer. If it answers curl no sooner: code that reads a body to its end, instead of as many bytes as Content-Length says, waits for ever.`
  const text = findHint(String(status ?? failureKind), target) ?? describe(answer)
  return status === 404
    ? `${text} If it answers 404 to a wrong signature as well: compare the two secrets. If it answers 404 to accounts that it does not know: pass one that it knows as account key.`
    : text
}

/** Finds a receiver that refuses a wrong signature with another status: such a receiver has accepted the right signature. */
async function findRefusedEvent({ make, send }: RunScene, answer: Answer): Promise<Finding | undefined> {
  const forged = await send(make.delivery(make.event(), FORGED))
  if (!isRefusal(forged) || forged.status === answer.status) return undefined
  const what = isRefusal(answer) ? 'refuses' : 'fails at'
  const text = `The receiver accepts the signature and ${what} the event: ${describe(answer)}, and ${forged.status} to a wrong signature. It may accept only events of certain accounts (pass one of them as account key), or require more of an event than the service guarantees. Its log says why.`
  return { code: 'event_refused', text, isAbsent: false, also: [] }
}

/** Answers of a receiver that is running, and may have a mistake. */
const REFUSALS: readonly Diagnosis['code'][] = ['refused', 'server_error', 'cut_off']

function toCode({ status, failureKind }: Answer): Diagnosis['code'] {
  if (status === undefined)
    return failureKind === 'reset' ? 'cut_off' : failureKind === 'timeout' ? 'no_answer' : 'unreachable'
  if (status === 429) return 'put_off'
  if (status === 404 || status === 405) return 'not_there'
  if (status === 413 || status === 415) return 'not_taken'
  if (isRedirect(status)) return 'redirect'
  return status < 500 ? 'refused' : 'server_error'
}

function toText(code: Diagnosis['code'], answer: Answer, { target, make }: RunScene, isOpen: boolean): string {
  if (isOpen)
    return `The receiver does not accept a plain delivery (${describe(answer)}), and accepts one without a signature. Its code may have mixed up the two cases, or may fail only when it verifies; its log says why. Until then, anyone can send it events.`
  if (code === 'refused')
    return `The receiver refuses a plain delivery in every form: ${describe(answer)}. It may have another secret than the one given here (each webhook has its own), accept only events of one account (pass that as account key), or read another header than ${make.signatureHeader} (pass its name as signature header), or something in front of it may change the body or refuse every request (a login, a firewall, the CSRF protection of its framework). Compare the two secrets, and compute the digest over the raw bytes.`
  if ([502, 503, 504].includes(answer.status ?? 0))
    return `${describe(answer)}: this mostly comes from a proxy or tunnel in front of the receiver that cannot reach it. Is the receiver running, on the port to which the proxy forwards? If the receiver answers this itself, its log says why.`
  const text = `The receiver fails at a plain delivery: ${describe(answer)}. Its log says why`
  if (code === 'server_error') return `${text}; often a body parser has read the body before it.`
  return target.protocol === 'http:' ? `${text}. If it speaks TLS, its URL begins with https.` : `${text}.`
}

/** Tries the wrong forms. A receiver that accepts deliveries without a signature need not read any other header. */
async function findMistake({ make, send, secret }: RunScene, isOpen: boolean): Promise<Finding | undefined> {
  for (const { code, text, deliver } of listWrongForms(Buffer.from(secret), make.signatureHeader)) {
    if (isOpen && code === 'other_header') continue
    const answers = await Promise.all(deliver(make).map(send))
    if (answers.some(isSuccess)) return { code, text, isAbsent: false, also: FAIL_AS_WELL[code] ?? [] }
  }
  return undefined
}

/** Finds out why a receiver that accepted a plain delivery did not accept or answer later ones. */
export async function findLate(scene: RunScene, checks: readonly Judged[]): Promise<Finding | undefined> {
  if (scene.isGone()) return findEnd(scene.target, checks)
  // A receiver that answers again at the end has not been judged by the checks that were left out.
  if (scene.isSilent() || checks.some(({ cause }) => cause === 'hangs')) return findSilence(checks)
  const limit = scene.putOffBy.size > 0 ? findLimit(checks, scene.putOffBy.has(429)) : undefined
  return limit ?? findShared(scene, checks)
}

const isSilence = ({ failureKind }: Answer) => failureKind === 'timeout'
const isEnd = ({ isUnreachable }: Answer) => isUnreachable

const toFinding = (code: Finding['code'], text: string, also: readonly Judged[]): Finding => ({
  code,
  text,
  isAbsent: false,
  also: also.map(({ id }) => id),
})

function findEnd(target: URL, checks: readonly Judged[]): Finding {
  const isSuspect = ({ status, answers }: Judged) =>
    status !== 'pass' && answers.some(({ failureKind }) => failureKind === 'reset')
  const suspects = checks.filter(isSuspect).map(({ id }) => id)
  // The probe of an app ends with it. Of several suspects, most are innocent.
  const isFollowing = (check: Judged) =>
    check.answers.some(isEnd) || check.cause === 'probe_failed' || (suspects.length > 1 && isSuspect(check))
  const also = checks.filter(isFollowing)
  const isRefused = also.some(({ answers }) => answers.some(({ failureKind }) => failureKind === 'refused'))
  const end =
    isRefused || also.length === 0
      ? `nothing listened at ${showTarget(target)} any more: a delivery ended its process`
      : `no connection to ${showTarget(target)} was answered any more: a delivery ended its process, or what is in front of it fails`
  const where = suspects.length === 0 ? '' : ` Connections ended without an answer in ${suspects.join(', ')}.`
  const text = `The receiver answered, and then ${end}.${where} Its log says why. Deliveries that were only under way end as well: to find the one, start the receiver again and run these checks each alone (--only), and those that make work fail after its answer or cut connections (effect-ack-after-work, effect-once-after-cut).`
  return toFinding('ended', text, also)
}

function findSilence(checks: readonly Judged[]): Finding {
  const text =
    'The receiver answered, and then no delivery got an answer in time any more: it hangs, or still works on earlier requests. Often it waits for something that these hold, such as connections to its database or a lock. Every way out of a request has to release them, refusals and errors too. If it only works on one request after the other, lower the concurrency of the checks.'
  // A receiver that accepted some of a burst did not hang before it.
  const also = checks.filter(({ answers }) => answers.some(isSilence) && !answers.some(isSuccess))
  return toFinding('no_answer', text, also)
}

/** Makes the finding for a receiver that puts deliveries off for too long; undefined if only 503 did, and no check suffers from it. */
function findLimit(checks: readonly Judged[], isLimiting: boolean): Finding | undefined {
  const also = checks.filter(({ answers }) => findPutOff(answers) !== undefined)
  // A receiver that answers 503 to nothing but forgeries limits nothing: it fails when it verifies.
  const isHarmed = also.some((check) => check.group !== 'signature' && isComplaint(check))
  const text =
    'The receiver, or something in front of it, limits requests: it put deliveries off (429, or 503 with Retry-After) for longer than this run waits, or without a time. The checks that follow from this say nothing else about the receiver. Lift the limit for the run, wait longer (patience), or run fewer checks at the same time (concurrency).'
  return isLimiting || isHarmed ? toFinding('put_off', text, also) : undefined
}

/** At least so many checks fail at genuine deliveries if requests share something. */
const SEVERAL = 3
/** Numbers of deliveries that come one after the other, and side by side. */
const [APART, TOGETHER] = [8, 16]

/** Makes the finding for a receiver that fails only at deliveries that come side by side, if several checks failed at genuine ones. */
async function findShared(scene: RunScene, checks: readonly Judged[]): Promise<Finding | undefined> {
  const { make, send, probe, counting, patienceMs } = scene
  const isTurnedDown = (answer: Answer) =>
    answer.event !== undefined && (isRefusal(answer) || (answer.status ?? 0) >= 500)
  const also = checks.filter(
    (check) =>
      isComplaint(check) && (check.cause === 'not_done' || check.runs === 0 || check.answers.some(isTurnedDown)),
  )
  if (also.length < SEVERAL) return undefined
  const isCounted = (await counting().types).includes(make.plainType)
  const isLost = async (answers: readonly Answer[]) => {
    if (answers.some(isTurnedDown)) return true
    if (probe === undefined || !isCounted) return false
    const ids = answers.flatMap(({ event }) => event?.id ?? [])
    return (await readSettled({ ...scene, probe, patienceMs: patienceMs / 6 }, ...ids)).includes(0)
  }
  const apart: Answer[] = []
  while (apart.length < APART) apart.push(await send(make.delivery(make.event())))
  if (await isLost(apart)) return undefined
  const together = Array.from({ length: TOGETHER }, () => make.delivery(make.event(), { toParts: holdBack }))
  if (!(await isLost(await Promise.all(together.map(send))))) return undefined
  const text =
    'The receiver takes deliveries that come one after the other, and fails at some of those that come side by side: requests share something. Often it is a variable outside of the handler, or a field of an object that handles all requests, that holds the raw body, the signature or the event while another request replaces it; or one connection or transaction for all. Keep what belongs to a request in local variables, or on its own request object.'
  return toFinding('side_by_side', text, also)
}

const isComplaint = ({ status }: Judged) => status === 'fail' || status === 'warn'

const isLeftOut = ({ cause }: Judged) => cause === 'absent' || cause === 'unreachable'

/** Codes of a receiver that fails on every delivery. */
const FAILING: readonly Diagnosis['code'][] = ['server_error', 'cut_off']
/** Checks that are judged even if a plain delivery is not accepted. */
const JUDGED = ['signature', 'leak', 'https', 'get-not-2xx']
/** Leaks that are told even if the receiver fails on every delivery. */
const TOLD = ['leak-secret', 'leak-digest']

/** Makes the diagnosis of the report from the finding, and adds the failures that follow from it. */
export function toDiagnosis({ code, text, also }: Finding, checks: readonly Judged[]): Diagnosis {
  const isJudged = ({ id, group }: Judged) => JUDGED.includes(id) || JUDGED.includes(group)
  const isFailure = ({ id, answers }: Judged) => !TOLD.includes(id) && !answers.some(isSuccess)
  const isFollowing = (check: Judged) =>
    FAILING.includes(code) ? isFailure(check) : !LATE.includes(code) && !isJudged(check)
  const follows = checks
    .filter((check) => check.id !== 'accepts-valid' && (isComplaint(check) || isLeftOut(check)))
    .filter((check) => also.includes(check.id) || isLeftOut(check) || isFollowing(check))
  return { code, text, follows: follows.map(({ id }) => id) }
}

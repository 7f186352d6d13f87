import { GONE } from '../wire/connection-failure.ts'
import { findHint } from '../wire/find-hint.ts'
import { showTarget } from '../wire/target.ts'
import type { Answer } from './exchange.ts'
import { FORGED } from './forgery.ts'
import type { CheckResult, Diagnosis } from './report.ts'
import type { RunScene } from './scene.ts'
import { NO_ANSWER } from './send.ts'
import { describe, isRefusal, isSuccess, PUT_OFF } from './verdict.ts'
import { WRONG_FORMS } from './wrong-forms.ts'

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
  const text = findHint(String(answer.status ?? answer.failureKind), target) ?? describe(answer)
  if (!REFUSALS.includes(code)) return { code, text, isAbsent: true, also: [] }
  return (await findMistake(scene)) ?? { code, text: toText(code, answer, target), isAbsent: false, also: [] }
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
  if (status < 400) return 'redirect'
  return status < 500 ? 'refused' : 'server_error'
}

function toText(code: Diagnosis['code'], answer: Answer, target: URL): string {
  if (code === 'refused')
    return `The receiver refuses a plain delivery in every form: ${describe(answer)}. It may have another secret than the one given here (each webhook has its own), accept only events of one account (pass that as account key), or read another header than X-Service-Signature, or something in front of it may change the body or refuse every request (a login, a firewall, the CSRF protection of its framework). Compare the two secrets, and compute the digest over the raw bytes.`
  if ([502, 503, 504].includes(answer.status ?? 0))
    return `${describe(answer)}: this mostly comes from a proxy or tunnel in front of the receiver that cannot reach it. Is the receiver running, on the port to which the proxy forwards? If the receiver answers this itself, its log says why.`
  const text = `The receiver fails at a plain delivery: ${describe(answer)}. Its log says why`
  if (code === 'server_error') return `${text}; often a body parser has read the body before it.`
  return target.protocol === 'http:' ? `${text}. If it speaks TLS, its URL begins with https.` : `${text}.`
}

async function findMistake({ make, send, secret }: RunScene): Promise<Finding | undefined> {
  for (const [code, mistake] of Object.entries(WRONG_FORMS)) {
    const answers = await Promise.all(mistake.deliver(make, Buffer.from(secret)).map(send))
    const also = 'also' in mistake ? mistake.also : []
    if (answers.some(isSuccess))
      return { code: code as keyof typeof WRONG_FORMS, text: mistake.text, isAbsent: false, also } // the keys of WRONG_FORMS
  }
  return undefined
}

/** Finds out why a receiver that accepted a plain delivery did not accept or answer later ones. */
export function findLate(scene: RunScene, checks: readonly CheckResult[]): Finding | undefined {
  if (scene.isGone()) return findEnd(scene.target, checks)
  if (scene.isSilent()) return findSilence(checks)
  return scene.isPutOff() ? findLimit(checks) : undefined
}

const idsOf = (checks: readonly CheckResult[], words: string) =>
  checks.filter(({ reason }) => reason.includes(words)).map(({ id }) => id)

/** Makes the finding for a receiver that has answered, but no longer listens. */
export function findEnd(target: URL, checks: readonly CheckResult[]): Finding {
  const text = `The receiver answered, and then nothing listened at ${showTarget(target)} any more: a delivery ended its process. See the first checks whose connection ended without an answer, and the log of the receiver.`
  return { code: 'ended', text, isAbsent: false, also: idsOf(checks, GONE) }
}

/** Makes the finding for a receiver that has answered, but hangs. */
function findSilence(checks: readonly CheckResult[]): Finding {
  const text =
    'The receiver answered, and then no delivery got an answer in time any more: it hangs. Often it waits for something that earlier requests still hold, such as connections to its database or a lock. Every way out of a request has to release them, refusals and errors too.'
  return { code: 'no_answer', text, isAbsent: false, also: idsOf(checks, NO_ANSWER) }
}

/** Makes the finding for a receiver that puts deliveries off for too long; undefined if no check failed because of it. */
function findLimit(checks: readonly CheckResult[]): Finding | undefined {
  const also = idsOf(checks, PUT_OFF)
  const isHarmed = checks.some(({ id, status }) => also.includes(id) && (status === 'fail' || status === 'warn'))
  const text =
    'The receiver, or something in front of it, limits requests: it put deliveries off (429 or 503 with Retry-After) for longer than this run waits. The checks that follow from this say nothing else about the receiver. Lift the limit for the run, wait longer (patience), or run fewer checks at the same time (concurrency).'
  return isHarmed ? { code: 'put_off', text, isAbsent: false, also } : undefined
}

/** Codes of a receiver that accepted a plain delivery at first, if there is a receiver. */
export const LATE: readonly Diagnosis['code'][] = ['ended', 'no_answer', 'put_off']
/** Codes of a receiver that fails on every delivery. */
const FAILING: readonly Diagnosis['code'][] = ['server_error', 'cut_off']
/** Checks that are judged even if a plain delivery is not accepted. */
const JUDGED = ['signature', 'leak', 'https', 'get-not-2xx']

/** Makes the diagnosis of the report from the finding, and adds the failures that follow from it. */
export function toDiagnosis({ code, text, also }: Finding, checks: readonly CheckResult[]): Diagnosis {
  const isJudged = ({ id, group }: CheckResult) => JUDGED.includes(id) || JUDGED.includes(group)
  const follows = checks
    .filter(({ id, status }) => id !== 'accepts-valid' && (status === 'fail' || status === 'warn'))
    .filter((check) => also.includes(check.id) || FAILING.includes(code) || (!LATE.includes(code) && !isJudged(check)))
  return { code, text, follows: follows.map(({ id }) => id) }
}

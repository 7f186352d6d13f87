import { isRedirect } from '../../src/protocol/redirect.ts'
import { findHint } from '../wire/find-hint.ts'
import { showTarget } from '../wire/target.ts'
import type { Answer, Verdict } from './case.ts'
import { type Finding, isComplaint, type Judged } from './find-late.ts'
import { FORGED } from './maker.ts'
import { type Diagnosis, LATE } from './report.ts'
import type { RunScene } from './scene.ts'
import { describe, isHtml, isRefusal, isSuccess } from './verdict.ts'
import { FAIL_AS_WELL, listWrongForms } from './wrong-forms.ts'

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

/** Finds a page of a website, which is answered to a wrong signature as well. */
export async function findPage({ make, send, target }: RunScene, { answers }: Verdict): Promise<Finding | undefined> {
  if (!answers.some(isHtml)) return undefined
  const isPage = async (answer: Answer) => isHtml(answer) && /^\s*<(!doctype|html)\b/i.test(await answer.body)
  for (const change of [{}, FORGED])
    if (!(await isPage(await send(make.delivery(make.event(), change))))) return undefined
  const text = `A page of HTML is answered, to a delivery with a wrong signature too: no receiver seems to be at ${showTarget(target)}. Often a website answers every path that it does not know with its first page. Is the path right, and mounted before that? If this is the receiver, it checks no signature.`
  return { code: 'not_there', text, isAbsent: true, also: [] }
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

const isLeftOut = ({ cause }: Judged) => cause === 'absent' || cause === 'unreachable' || cause === 'shut'

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

import type { Answer } from './exchange.ts'
import { findHint } from './find-hint.ts'
import type { CheckResult, Diagnosis } from './report.ts'
import type { RunScene } from './scene.ts'
import { describe, isSuccess } from './verdict.ts'
import { WRONG_FORMS } from './wrong-forms.ts'

/** The reason why a plain delivery is not accepted. */
export interface Finding {
  readonly code: Diagnosis['code']
  readonly text: string
  /** No receiver is there whose other answers could be judged. */
  readonly isAbsent: boolean
  /** Checks of the signature that fail by the same mistake. */
  readonly also: readonly string[]
}

/** Sends a plain delivery again and, if it is refused once more, in the forms that receivers with a usual mistake accept. */
export async function diagnose(scene: RunScene): Promise<Finding | undefined> {
  const { make, send, target } = scene
  const answer = await send(make.delivery(make.event()))
  if (isSuccess(answer)) return undefined
  const code = toCode(answer)
  const text = findHint(String(answer.status ?? answer.failureKind), target) ?? describe(answer)
  if (!REFUSALS.includes(code)) return { code, text, isAbsent: true, also: [] }
  return (await findMistake(scene)) ?? { code, text: toText(code, answer), isAbsent: false, also: [] }
}

/** Answers of a receiver that is there, and may have a mistake. */
const REFUSALS: readonly Diagnosis['code'][] = ['refused', 'server_error', 'cut_off']

function toCode({ status, failureKind }: Answer): Diagnosis['code'] {
  if (status === undefined)
    return failureKind === 'reset' ? 'cut_off' : failureKind === 'timeout' ? 'no_answer' : 'unreachable'
  if (status === 404 || status === 405) return 'not_there'
  if (status === 413 || status === 415) return 'not_taken'
  if (status < 400) return 'redirect'
  return status < 500 ? 'refused' : 'server_error'
}

function toText(code: Diagnosis['code'], answer: Answer): string {
  return code === 'refused'
    ? `The receiver refuses a plain delivery in every form: ${describe(answer)}. It has another secret than the one that was given here (each webhook has its own), or something in front of it changes the body. Compare the two secrets, and sign the raw bytes.`
    : `The receiver fails at a plain delivery: ${describe(answer)}. Its log says why.`
}

async function findMistake({ make, send, secret }: RunScene): Promise<Finding | undefined> {
  for (const [code, mistake] of Object.entries(WRONG_FORMS)) {
    const answers = await Promise.all(mistake.deliver(make, Buffer.from(secret)).map(send))
    const also = 'also' in mistake ? mistake.also : []
    if (answers.some(isSuccess))
      return { code: code as keyof typeof WRONG_FORMS, text: mistake.text, isAbsent: false, also } // its own keys
  }
  return undefined
}

/** A receiver that fails at everything. */
const FAILING: readonly Diagnosis['code'][] = ['server_error', 'cut_off']
/** Checks that are judged though a plain delivery is not accepted. */
const JUDGED = ['signature', 'leak', 'https', 'get-not-2xx']

/** Returns the diagnosis of the report, with the failures that follow from the finding. */
export function toDiagnosis({ code, text, also }: Finding, checks: readonly CheckResult[]): Diagnosis {
  const isJudged = ({ id, group }: CheckResult) => JUDGED.includes(id) || JUDGED.includes(group)
  const follows = checks
    .filter(({ id, status }) => id !== 'accepts-valid' && (status === 'fail' || status === 'warn'))
    .filter((check) => also.includes(check.id) || FAILING.includes(code) || !isJudged(check))
  return { code, text, follows: follows.map(({ id }) => id) }
}

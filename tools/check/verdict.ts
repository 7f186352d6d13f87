import { type Answer, CAUSES, type Level, type Status, type Verdict } from './case.ts'

export function mustBeAccepted(answer: Answer): Verdict {
  return toVerdict(isSuccess(answer) ? 'pass' : 'fail', answer)
}

/** Passes if the delivery was refused by a 4xx: by 401 or, with a note, by another. */
export function mustBeRefused(answer: Answer): Verdict {
  if (!isRefusal(answer)) return toVerdict('fail', answer)
  return toVerdict('pass', answer, answer.status === 401 ? {} : { note: '401 is usual' })
}

/** Passes for any refusal: 401 is no more usual than others. */
export function mustBeRefusedAnyhow(answer: Answer): Verdict {
  return toVerdict(isRefusal(answer) ? 'pass' : 'fail', answer)
}

export function mustNotCrash(answer: Answer): Verdict {
  return toVerdict(isSuccess(answer) || isRefusal(answer) ? 'pass' : 'fail', answer)
}

export function capAt(level: Level, verdict: Verdict): Verdict {
  return verdict.status === 'fail' ? { ...verdict, status: level } : verdict
}

/** Expectations of checks of one delivery, in words and as a judge of the answer. */
export const MUST_BE_ACCEPTED = { expects: '2xx', judge: mustBeAccepted } as const
export const SHOULD_BE_ACCEPTED = {
  level: 'warn',
  expects: '2xx; otherwise a warning.',
  judge: mustBeAccepted,
} as const
export const MUST_BE_REFUSED = {
  expects: '401; another 4xx passes with a note. Never 2xx, never 5xx.',
  judge: mustBeRefused,
} as const
export const SHOULD_BE_REFUSED = { level: 'warn', expects: '401; otherwise a warning.', judge: mustBeRefused } as const
export const MUST_NOT_CRASH = { expects: '2xx or 4xx, never 5xx.', judge: mustNotCrash } as const

/** Skips a check: an event that it needs was not acknowledged. */
export function notAccepted(answers: Answer | readonly Answer[]): Verdict {
  return toVerdict('skipped', answers, { cause: 'not_accepted' })
}

export function isSuccess({ status = 0 }: Answer): boolean {
  return status >= 200 && status < 300
}

/** Returns true for a 4xx, unless it only puts the delivery off: such a receiver has not judged it. */
export function isRefusal(answer: Answer): boolean {
  const { status = 0 } = answer
  return status >= 400 && status < 500 && !isPutOff(answer)
}

/** Returns true if the receiver has not processed the delivery: for 503, it has to say when to retry. */
export function isPutOff(answer: Pick<Answer, 'status' | 'headers'>): boolean {
  return answer.status === 429 || (answer.status === 503 && readRetryAfterMs(answer) !== undefined)
}

/** Returns true for an acknowledgement that may be a page of a website. */
export function isHtml(answer: Answer): boolean {
  return isSuccess(answer) && /^text\/html\b/.test(answer.headers['content-type'] ?? '')
}

export function isUnjudged(answer: Answer): boolean {
  return answer.status === undefined || isPutOff(answer)
}

/** Reads `Retry-After` in seconds, even with a fraction, or as a date; undefined if the answer does not say when to retry. */
export function readRetryAfterMs({
  headers: { 'retry-after': text = '' },
}: Pick<Answer, 'headers'>): number | undefined {
  // Date.parse reads 1.5 as a day in January 2001.
  const isNumber = /^[-+]?\d+(\.\d+)?$/.test(text)
  const ms = isNumber ? Number(text) * 1_000 : Date.parse(text) - Date.now()
  return Number.isNaN(ms) ? undefined : Math.max(ms, 0)
}

export function toVerdict(
  status: Status,
  answers: Answer | readonly Answer[],
  facts: Omit<Verdict, 'status' | 'answers'> = {},
): Verdict {
  return { status, answers: 'ms' in answers ? [answers] : answers, ...facts }
}

/** Writes the facts of a verdict in one line. Never includes a body. */
export function toReason({ cause, answers, runs, note = '' }: Verdict): string {
  const work = runs === undefined ? '' : `the work was done ${runs === 1 ? 'once' : `${runs} times`}`
  const facts = [describeAll(answers), work, note].filter((text) => text !== '').join('; ')
  const head = cause === undefined ? '' : CAUSES[cause]
  return [head, facts].filter((text) => text !== '').join(': ')
}

/** So many answers are described one by one; more are counted. */
const FEW = 3

/** Returns the last answer that puts a delivery off, unless others of many did not: then it limits only some of them. */
export function findPutOff(answers: readonly Answer[]): Answer | undefined {
  return answers.length <= FEW || answers.every(isPutOff) ? answers.findLast(isPutOff) : undefined
}

function describeAll(answers: readonly Answer[]): string {
  if (answers.length > FEW) return countAnswers(answers) + showWait(findPutOff(answers))
  const texts = answers.map((answer) => describe(answer) + showWait(answer))
  return texts.length > 1 ? `first ${texts.join(', then ')}` : texts.join()
}

function showWait(answer: Answer | undefined): string {
  if (answer === undefined || !isPutOff(answer)) return ''
  const ms = readRetryAfterMs(answer)
  return `, put off for ${ms === undefined ? 'an unknown time' : `${Math.ceil(ms / 1_000)} s`}`
}

export function describe({ status, failure, isUnreachable, ms }: Answer): string {
  if (status !== undefined) return `${status} after ${Math.round(ms)} ms`
  return isUnreachable
    ? `${failure}; where earlier deliveries got answers, one of them may have ended the process`
    : (failure ?? 'no answer')
}

/** Counts each answer: `7 × 200, 1 × 409`. */
function countAnswers(answers: readonly Answer[]): string {
  const counts = new Map<string, number>()
  for (const { status, failure } of answers) {
    const name = status === undefined ? (failure ?? 'no answer') : String(status)
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return [...counts].map(([name, count]) => `${count} × ${name}`).join(', ')
}

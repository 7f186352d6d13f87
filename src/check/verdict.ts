import type { Answer, Status, Verdict } from './case.ts'

export function mustBeAccepted(answer: Answer): Verdict {
  return toVerdict(isSuccess(answer) ? 'pass' : 'fail', answer)
}

/** Passes if the delivery was acknowledged, otherwise warns: for deliveries that the documentation of the service does not promise. */
export function shouldBeAccepted(answer: Answer): Verdict {
  return toVerdict(isSuccess(answer) ? 'pass' : 'warn', answer)
}

/** Passes if the delivery was refused by a 4xx: by 401 or, with a note, by another. */
export function mustBeRefused(answer: Answer): Verdict {
  if (!isRefusal(answer)) return toVerdict('fail', answer)
  return toVerdict('pass', answer, answer.status === 401 ? '' : '; 401 is usual')
}

/** Passes like `mustBeRefused`, but only warns if the delivery was accepted, which does little harm. A crash is still a failure. */
export function shouldBeRefused(answer: Answer): Verdict {
  return isSuccess(answer) ? toVerdict('warn', answer) : mustBeRefused(answer)
}

/** Passes if the delivery was accepted or refused, and fails if the receiver crashed. */
export function mustNotCrash(answer: Answer): Verdict {
  return toVerdict(isSuccess(answer) || isRefusal(answer) ? 'pass' : 'fail', answer)
}

/** Expectations of checks of one delivery, in words and as a judge of the answer. */
export const MUST_BE_ACCEPTED = { expects: '2xx', judge: mustBeAccepted } as const
export const SHOULD_BE_ACCEPTED = {
  level: 'warn',
  expects: '2xx; otherwise a warning.',
  judge: shouldBeAccepted,
} as const
export const MUST_BE_REFUSED = {
  expects: '401; another 4xx passes with a note. Never 2xx, never 5xx.',
  judge: mustBeRefused,
} as const
export const SHOULD_BE_REFUSED = {
  expects: '401; a warning if it is accepted. Never 5xx.',
  judge: shouldBeRefused,
} as const
export const MUST_NOT_CRASH = { expects: '2xx or 4xx, never 5xx.', judge: mustNotCrash } as const

/** Skips a check: an event that it needs was not acknowledged. */
export function notAccepted(answer: Answer): Verdict {
  return { status: 'skipped', reason: `the event was not accepted: ${describeWithWait(answer)}` }
}

export function isSuccess({ status = 0 }: Answer): boolean {
  return status >= 200 && status < 300
}

/** Returns true for a 4xx, unless it only puts the delivery off: such a receiver has not judged it. */
export function isRefusal(answer: Answer): boolean {
  const { status = 0 } = answer
  return status >= 400 && status < 500 && !isPutOff(answer)
}

export function isRedirect({ status = 0 }: Answer): boolean {
  return status >= 300 && status < 400
}

/** Returns true if the receiver has not processed the delivery: for 503, it has to say when to retry. */
export function isPutOff(answer: Answer): boolean {
  return answer.status === 429 || (answer.status === 503 && readRetryAfterMs(answer) !== undefined)
}

/** Returns true if the receiver gave no answer, or only put the delivery off. */
export function isUnjudged(answer: Answer): boolean {
  return answer.status === undefined || isPutOff(answer)
}

/** Reads `Retry-After` in seconds, even with a fraction, or as a date; undefined if the answer does not say when to retry. */
export function readRetryAfterMs({ headers: { 'retry-after': text = '' } }: Answer): number | undefined {
  // Date.parse reads 1.5 as a day in January 2001.
  const isNumber = /^[-+]?\d+(\.\d+)?$/.test(text)
  const ms = isNumber ? Number(text) * 1_000 : Date.parse(text) - Date.now()
  return Number.isNaN(ms) ? undefined : Math.max(ms, 0)
}

/** Words about an answer that puts the delivery off. */
export const PUT_OFF = 'put off for'

export function toVerdict(status: Status, answer: Answer, note = ''): Verdict {
  return { status, reason: describeWithWait(answer) + note }
}

/** Describes an answer, and for how long it puts the delivery off. */
export function describeWithWait(answer: Answer): string {
  return describe(answer) + showWait(answer)
}

/** Adds for how long an answer puts the delivery off; nothing if it does not. */
export function showWait(answer: Answer): string {
  if (!isPutOff(answer)) return ''
  const ms = readRetryAfterMs(answer)
  return `, ${PUT_OFF} ${ms === undefined ? 'an unknown time' : `${Math.ceil(ms / 1_000)} s`}`
}

/** Describes the status and its time, or why there is none. Never includes the body. */
export function describe({ status, failure, isUnreachable, ms }: Answer): string {
  if (status !== undefined) return `${status} after ${Math.round(ms)} ms`
  return isUnreachable
    ? `${failure}; where earlier deliveries got answers, one of them may have ended the process`
    : (failure ?? 'no answer')
}

/** Counts each answer: `7 × 200, 1 × 409`. */
export function countAnswers(answers: readonly Answer[]): string {
  const counts = new Map<string, number>()
  for (const { status, failure } of answers) {
    const name = status === undefined ? (failure ?? 'no answer') : String(status)
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return [...counts].map(([name, count]) => `${count} × ${name}`).join(', ')
}

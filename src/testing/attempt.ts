import type { Clock } from '../host/clock.ts'
import { SERVICE_DEADLINE_MS } from '../protocol/schedule.ts'
import type { Target, TargetAnswer, TargetRequest } from './target.ts'

/** Why an attempt is not acknowledged: the status was no 2xx, none came in time, none came at all, or the test cut the connection. */
export type AttemptFailure = 'status' | 'timeout' | 'connection' | 'aborted'

/** One request and what became of it. */
export interface Attempt {
  /** From 1; 1 as well for what is sent once. */
  readonly number: number
  /** When it started, in milliseconds since 1970, by the sender's clock. */
  readonly at: number
  /** How long it took, by the sender's clock. */
  readonly durationMs: number
  /** Of the answer; undefined where none came. */
  readonly status: number | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Undefined where a 2xx came in time. */
  readonly failure: AttemptFailure | undefined
  /** For `connection`: what the target rejected with. */
  readonly error: unknown
}

/** A clock; one that is moved by the test waits for what it is told of. */
export type SenderClock = Clock & { track?(work: PromiseLike<unknown>): void }

/** What is sent, and when the connection is cut. */
export interface AttemptPlan {
  readonly number: number
  readonly request: Omit<TargetRequest, 'signal'>
  readonly abortAfterMs: number | undefined
}

/** Makes one attempt. Never rejects. */
export function makeAttempt(target: Target, clock: SenderClock, plan: AttemptPlan): Promise<Attempt> {
  const attempt = carryOut(target, clock, plan)
  clock.track?.(attempt)
  return attempt
}

async function carryOut(target: Target, clock: Clock, plan: AttemptPlan): Promise<Attempt> {
  const [at, startedAt] = [clock.now(), clock.monotonic()]
  const controller = new AbortController()
  let cutBy: 'timeout' | 'aborted' | undefined
  const cutAfter = (ms: number, why: 'timeout' | 'aborted') =>
    clock.setTimeout(() => {
      cutBy = why
      controller.abort(new Error(`The sender cut the connection after ${ms} ms.`))
    }, ms)
  const timers = [cutAfter(SERVICE_DEADLINE_MS, 'timeout')]
  if (plan.abortAfterMs !== undefined) timers.push(cutAfter(plan.abortAfterMs, 'aborted'))
  const conclude = (
    answer: TargetAnswer | undefined,
    failure: AttemptFailure | undefined,
    error?: unknown,
  ): Attempt => ({
    number: plan.number,
    at,
    durationMs: clock.monotonic() - startedAt,
    status: answer?.status,
    headers: answer?.headers ?? {},
    body: answer?.body ?? '',
    failure,
    error,
  })
  try {
    const { signal } = controller
    const answer = await Promise.race([send(target, { ...plan.request, signal }), whenAborted(signal)])
    return conclude(answer, answer.status >= 200 && answer.status < 300 ? undefined : 'status')
  } catch (error) {
    return conclude(undefined, cutBy ?? 'connection', error)
  } finally {
    for (const timer of timers) clock.clearTimeout(timer)
  }
}

/** A target of one's own may throw instead of rejecting. */
async function send(target: Target, request: TargetRequest): Promise<TargetAnswer> {
  return target.send(request)
}

/** A target may ignore the signal; the sender goes on all the same. */
function whenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

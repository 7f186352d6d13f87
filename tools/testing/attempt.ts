import type { Clock } from '../../src/host/clock.ts'
import { ConfigurationError } from '../../src/protocol/errors.ts'
import type { Target, TargetRequest } from './target.ts'

/** Reason why an attempt was not acknowledged: another status than 2xx, none in time, none at all, or a connection cut by the test. */
export type AttemptFailure = 'status' | 'timeout' | 'connection' | 'aborted'

/** Request with its result. */
export interface Attempt {
  /** Number of the attempt, from 1; also 1 for a single request. */
  readonly number: number
  /** Start in milliseconds since 1970, by the sender's clock. */
  readonly at: number
  /** Duration by the sender's clock. */
  readonly durationMs: number
  /** Status of the answer; undefined if none came. */
  readonly status: number | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Reason of the failure; undefined if a 2xx came in time. */
  readonly failure: AttemptFailure | undefined
  /** Error with which the target rejected; for `connection`. */
  readonly error: unknown
}

/** Clock of a sender. A clock that the test moves waits for work passed to `track`. */
export type SenderClock = Clock & { track?(work: PromiseLike<unknown>): void }

export interface AttemptPlan {
  readonly number: number
  readonly request: Omit<TargetRequest, 'signal'>
  /** Milliseconds for which the sender waits for an answer. */
  readonly waitsMs: number
  readonly abortAfterMs: number | undefined
  /** Cuts the connection. */
  readonly signal?: AbortSignal | undefined
}

export function makeAttempt(target: Target, clock: SenderClock, plan: AttemptPlan): Promise<Attempt> {
  const made = attempt(target, clock, plan)
  clock.track?.(made)
  return made
}

async function attempt(target: Target, clock: Clock, plan: AttemptPlan): Promise<Attempt> {
  const [at, startedAt] = [clock.now(), clock.monotonic()]
  const controller = new AbortController()
  let cutBy: 'timeout' | 'aborted' | undefined
  const cutAfter = (ms: number, why: 'timeout' | 'aborted') =>
    clock.setTimeout(() => {
      cutBy = why
      controller.abort(new Error(`The sender cut the connection after ${ms} ms.`))
    }, ms)
  const timers = [cutAfter(plan.waitsMs, 'timeout')]
  const cancel = () => {
    cutBy = 'aborted'
    controller.abort(plan.signal?.reason)
  }
  plan.signal?.addEventListener('abort', cancel, { once: true })
  if (plan.abortAfterMs !== undefined) timers.push(cutAfter(plan.abortAfterMs, 'aborted'))
  const conclude = (result: Pick<Attempt, 'failure'> & Partial<Attempt>): Attempt => ({
    number: plan.number,
    at,
    durationMs: clock.monotonic() - startedAt,
    status: undefined,
    headers: {},
    body: '',
    error: undefined,
    ...result,
  })
  try {
    const { signal } = controller
    const answer = await Promise.race([target.send({ ...plan.request, signal }), whenAborted(signal)])
    const { status, headers, body } = answer
    return conclude({ status, headers, body, failure: status >= 200 && status < 300 ? undefined : 'status' })
  } catch (error) {
    if (error instanceof ConfigurationError) throw error // a mistake of the test
    return conclude({ failure: cutBy ?? 'connection', error })
  } finally {
    for (const timer of timers) clock.clearTimeout(timer)
    plan.signal?.removeEventListener('abort', cancel)
  }
}

/** Rejects when the signal aborts, so that the sender goes on even if the target ignores the signal. */
function whenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

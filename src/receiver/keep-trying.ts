import type { Clock } from '../host/clock.ts'
import { callWithin } from './within.ts'

/** A call to the store is given up after this many milliseconds. */
export const STORE_LIMIT_MS = 3_000
/** How long a result is offered to a store that does not take it, and how soon again at first. */
const KEEP_TRYING_MS = 60_000
const FIRST_DELAY_MS = 100

/** Makes a call that the store did not answer again, less and less often, until it does; after 60 s that was the last failure. */
export function keepTrying<T>(
  { clock, leaseMs }: { readonly clock: Clock; readonly leaseMs: number },
  what: string,
  call: () => T | PromiseLike<T>,
  onAnswer: (answer: T) => void,
  onGiveUp: (cause: unknown) => void,
): void {
  const giveUpAt = clock.monotonic() + KEEP_TRYING_MS
  let delayMs = FIRST_DELAY_MS
  const onFailure = (cause: unknown) => {
    if (clock.monotonic() >= giveUpAt) return onGiveUp(cause)
    delayMs = Math.min(delayMs * 2, leaseMs / 3)
    clock.setTimeout(tryAgain, delayMs)
  }
  const tryAgain = () => callWithin(clock, STORE_LIMIT_MS, what, call, onAnswer, onFailure)
  clock.setTimeout(tryAgain, delayMs)
}

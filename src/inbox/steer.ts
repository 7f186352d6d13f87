import { ConfigurationError } from '../protocol/errors.ts'
import { isError, show } from '../protocol/show.ts'

/**
 * Thrown by a handler whose event can never succeed: the event becomes a dead letter immediately. Without an inbox it counts as any
 * other error, since the retry schedule of the service cannot be changed.
 *
 * @example throw new DeadLetter('the customer does not exist')
 */
export class DeadLetter extends Error {
  override readonly name = 'DeadLetter'
}

/**
 * Thrown by a handler to retry its event after a delay, without counting a failed try. Without an inbox it counts as any other error.
 * An event that is put off until the retention of the store has passed becomes a dead letter (`expired`).
 *
 * @example throw new RetryLater(60_000)
 */
export class RetryLater extends Error {
  override readonly name = 'RetryLater'
  /** Delay in milliseconds. Less than 100 counts as 100. */
  readonly delayMs: number

  /** @throws ConfigurationError `option_invalid` for anything but a finite number of milliseconds that is not negative */
  constructor(delayMs: number, message = `again in ${delayMs} ms`) {
    super(message)
    if (!isDelay(delayMs))
      throw new ConfigurationError('option_invalid', `RetryLater was given ${show(delayMs)}; it takes milliseconds.`)
    this.delayMs = delayMs
  }
}

/** Returns true if a value is a valid delay in milliseconds. */
export function isDelay(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && Number.isFinite(value)
}

/** Returns true for a delay that was probably meant in seconds. */
export function isHasty(delayMs: unknown): boolean {
  return isDelay(delayMs) && delayMs > 0 && delayMs < 1_000
}

/** Wish of the handlers for their event. Errors are recognized by name, since the app may load two copies of this package. */
export type Steering = 'bury' | { readonly afterMs: number } | undefined

/** @param errors errors that the handlers threw. If one of them states no wish, the event is retried as usual. */
export function steeringOf(errors: readonly unknown[]): Steering {
  let afterMs: number | undefined
  for (const error of errors) {
    const wish = wishOf(error)
    if (wish === undefined) return undefined
    if (wish !== 'bury') afterMs = Math.max(afterMs ?? 0, wish.afterMs)
  }
  if (errors.length === 0) return undefined
  return afterMs === undefined ? 'bury' : { afterMs }
}

function wishOf(error: unknown): Steering {
  if (!isError(error)) return undefined
  const { name, delayMs }: { readonly name: string; readonly delayMs?: unknown } = error
  if (name === 'DeadLetter') return 'bury'
  return name === 'RetryLater' && isDelay(delayMs) ? { afterMs: delayMs } : undefined
}

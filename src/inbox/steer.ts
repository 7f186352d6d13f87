import { ConfigurationError } from '../protocol/errors.ts'
import { show } from '../protocol/show.ts'

/**
 * Thrown by a handler whose event can never succeed: it becomes a dead letter at once. Without an inbox it counts as any other throw,
 * since the service's own schedule cannot be steered.
 *
 * @example throw new DeadLetter('the customer does not exist')
 */
export class DeadLetter extends Error {
  override readonly name = 'DeadLetter'
}

/**
 * Thrown by a handler that wants its event again after a time, without counting as a failed try. Without an inbox it counts as any other
 * throw. An event that was put off until the store's retention has passed becomes a dead letter (`expired`).
 *
 * @example throw new RetryLater(60_000)
 */
export class RetryLater extends Error {
  override readonly name = 'RetryLater'
  /** In milliseconds. Less than 100 counts as 100. */
  readonly delayMs: number

  /**
   * @param delayMs milliseconds
   * @throws ConfigurationError `option_invalid` for anything but a number that is finite and not negative
   */
  constructor(delayMs: number, message = `again in ${delayMs} ms`) {
    super(message)
    if (!isDelay(delayMs))
      throw new ConfigurationError('option_invalid', `RetryLater was given ${show(delayMs)}; it takes milliseconds.`)
    this.delayMs = delayMs
  }
}

/** Whether a value is a number of milliseconds that can be waited for. */
export function isDelay(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && Number.isFinite(value)
}

/** How handlers want their event to go on. By name, since their classes may be of another copy of this package. */
export type Steering = 'bury' | { readonly afterMs: number } | undefined

/** @param errors what the handlers threw. One that failed without a wish decides: it has its tries still before it. */
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
  try {
    const { name, delayMs } = error as Partial<RetryLater> // null and undefined throw, and are caught
    if (!(error instanceof Error)) return undefined
    if (name === ('DeadLetter' as string)) return 'bury'
    return name === 'RetryLater' && isDelay(delayMs) ? { afterMs: delayMs } : undefined
  } catch {
    return undefined
  }
}

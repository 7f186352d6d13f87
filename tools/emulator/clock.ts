import { type Clock, systemClock } from '../../src/host/clock.ts'
import { ConfigurationError } from '../../src/protocol/errors.ts'
import { show } from '../../src/protocol/show.ts'
import { type ManualClock, manualClock } from '../testing/manual-clock.ts'
import { checkInput, duration } from './check-input.ts'
import { Refusal } from './refusal.ts'

/** Clock of the emulator, for delays, token expiry, rate windows and timestamps. */
export interface EmulatorClock extends Clock {
  /** True if it stands still until the test moves it. */
  readonly isManual: boolean
  /**
   * Advances a manual clock: makes the attempts that become due on the way in order, and lets each end before the next one, or take a
   * second of real time.
   *
   * @param by milliseconds, or text such as `30s`, `5m30s` or `2h`
   * @throws ConfigurationError `option_invalid` if the clock is not a manual one
   * @throws PosternError `emulator_refused` for an invalid duration
   */
  advance(by: number | string): Promise<void>
  /** Advances a manual clock to the next planned attempt, and makes it. Returns false, and does nothing, if none is planned. */
  next(): Promise<boolean>
  /** Makes the clock wait until this work has ended, or until no work has ended for a second of real time. */
  track(work: PromiseLike<unknown>): void
}

export interface ClockHooks {
  /** Returns the time at which the next attempt is due. */
  nextDueAt(): number | undefined
  onMove(now: number): void
  warn(message: string): void
}

/**
 * @param given `manual`, or a custom clock such as one of `manualClock()`; undefined for the system clock
 * @param startAt start of a manual clock that is created here, in milliseconds since 1970
 */
export function createClock(given: Clock | 'manual' | undefined, startAt: number, hooks: ClockHooks): EmulatorClock {
  const base = given === 'manual' ? manualClock(startAt) : (given ?? systemClock)
  const manual = isManual(base) ? base : undefined
  const mustMove = () => {
    if (manual !== undefined) return manual
    throw new ConfigurationError(
      'option_invalid',
      'The clock of the emulator cannot be moved: start the emulator with clock: "manual".',
    )
  }
  const advance = async (by: number | string) => {
    const clock = mustMove()
    const ms = checkInput(by, duration, 'clock.advance')
    const wait = (hooks.nextDueAt() ?? 0) - clock.now()
    if (typeof by === 'number' && by > 0 && by < wait && by * 1_000 >= wait)
      hooks.warn(
        `clock.advance: ${by} is milliseconds, and no attempt is due then; if seconds are meant, give "${by}s"`,
      )
    await clock.advance(ms)
    hooks.onMove(clock.now())
  }
  const toNext = async () => {
    await advance(0)
    const due = hooks.nextDueAt()
    if (due === undefined) return false
    await advance(Math.max(0, due - base.now()))
    return true
  }
  // Concurrent calls are run one after the other.
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(move: () => Promise<T>): Promise<T> => {
    const moved = last.then(move)
    last = moved.catch(() => {})
    return moved
  }
  return {
    isManual: manual !== undefined,
    now: () => base.now(),
    monotonic: () => base.monotonic(),
    setTimeout: (callback, ms) => base.setTimeout(callback, ms),
    clearTimeout: (timer) => base.clearTimeout(timer),
    track: (work) => manual?.track(work),
    advance: (by) => inTurn(() => advance(by)),
    async next(none?: unknown) {
      if (typeof none === 'string' || typeof none === 'number')
        throw new Refusal('invalid', `clock.next: it takes nothing; to move by a time: advance(${show(none)})`)
      return inTurn(toNext)
    },
  }
}

function isManual(clock: Clock): clock is ManualClock {
  return 'advance' in clock && 'next' in clock && 'track' in clock
}

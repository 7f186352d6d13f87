import { type Clock, systemClock } from '../host/clock.ts'
import { type ManualClock, manualClock } from '../host/manual-clock.ts'
import { ConfigurationError } from '../protocol/errors.ts'

/** The time that the emulator goes by: delays, expiry of tokens, rate windows and timestamps. */
export interface EmulatorClock extends Clock {
  /** Whether it stands still until it is moved. */
  readonly isManual: boolean
  /**
   * Moves a manual clock on: what falls due on the way is attempted in order, and attempts under way come to rest before the next,
   * or get a second of real time.
   *
   * @param by milliseconds, or text such as `30s`, `5m30s` or `2h`
   * @throws ConfigurationError `option_invalid` where the clock is not a manual one
   */
  advance(by: number | string): Promise<void>
  /** Moves a manual clock to the next attempt that is due, and makes it. Gives false, and stays, where none is planned. */
  next(): Promise<boolean>
  /** The clock goes on once this has ended, or nothing has for a second of real time. */
  track(work: PromiseLike<unknown>): void
}

/** What the emulator is told of. */
export interface ClockHooks {
  /** When the next attempt is due. */
  nextDueAt(): number | undefined
  onMove(now: number): void
}

/**
 * @param given `manual`, a clock of `manualClock()` or of one's own; undefined for the machine's
 * @param startAt where a clock starts that is made here, in milliseconds since 1970
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
    await clock.advance(by)
    hooks.onMove(clock.now())
  }
  return {
    isManual: manual !== undefined,
    now: () => base.now(),
    monotonic: () => base.monotonic(),
    setTimeout: (callback, ms) => base.setTimeout(callback, ms),
    clearTimeout: (timer) => base.clearTimeout(timer),
    track: (work) => manual?.track(work),
    advance,
    async next() {
      await advance(0)
      const due = hooks.nextDueAt()
      if (due === undefined) return false
      await advance(Math.max(0, due - base.now()))
      return true
    },
  }
}

function isManual(clock: Clock): clock is ManualClock {
  return 'advance' in clock && 'next' in clock && 'track' in clock
}

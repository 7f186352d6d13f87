import type { Clock } from '../../src/host/clock.ts'
import { isTime, parseTime } from '../../src/protocol/iso-time.ts'
import { FUNCTION, type Kind, OptionChecker } from '../../src/protocol/option-checker.ts'
import { isThenable } from '../../src/protocol/promises.ts'
import { show } from '../../src/protocol/show.ts'
import { parseDuration } from '../wire/parse-duration.ts'

/** A clock that stands still until the test moves it. */
export interface ManualClock extends Clock {
  /**
   * Moves the time on. What falls due on the way goes off in order, each at its own time, and whatever that sets going
   * comes to rest before the next.
   *
   * @param by milliseconds, or text such as `30s`, `5m30s` or `2h`
   * @throws Error if a timer sets itself again for the same time without end
   */
  advance(by: number | string): Promise<void>
  /** Moves to the time of the next timer, and runs all that are due then. Returns false, and stays, if none is set. */
  next(): Promise<boolean>
  /** The clock goes on once this has ended, or nothing has for a second of real time. A sender calls it for its requests. */
  track(work: PromiseLike<unknown>): void
  /** The number of timers that are set and have not gone off. */
  readonly pending: number
}

/** The real time for which one stop waits for what is under way, from the last end of a piece: the rest may hang until the time moves. */
const PATIENCE_MS = 1_000
/** Patience with what has hung at a stop before, and at the same time. */
const PATIENCE_AGAIN_MS = 250
/** Turns of the event loop at every stop. A chain of promises ends in one; streams in memory take a few. */
const TURNS = 8
/** Turns without a pause, before the wait becomes one for real I/O. */
const BUSY_TURNS = 200
/** The number of times that timers may go off one after the other while the time stands still. */
const MAX_ROUNDS = 1_000
const ENDLESS = `${MAX_ROUNDS} timers of 0 ms in a row: they keep setting each other.`

// Keeps the real timers, so that a test that fakes the global ones later does not stop this clock.
const real = { setImmediate, setTimeout, performance }
const nextTurn = () => new Promise<void>((resolve) => real.setImmediate(resolve))
const pause = () => new Promise<void>((resolve) => real.setTimeout(resolve, 1))

/** Kind of a length of time. */
export const DURATION: Kind = (value) => {
  try {
    parseDuration(value as number) // it checks the type
    return undefined
  } catch {
    return 'milliseconds, or text such as "30s", "5m30s" or "2h"'
  }
}

/** Returns true for seconds of a date from 1973 on: as milliseconds, they are a day of early 1970. */
export const areSeconds = (value: unknown): boolean => typeof value === 'number' && value > 1e8 && value < 1e11

const TIME: Kind = (value) => {
  const isDate = typeof value === 'number' || typeof Object(value).getTime === 'function'
  // Behind a blank, a time would be one in the zone of the machine.
  const isText = typeof value === 'string' && !value.includes(' ')
  const time = isText ? parseTime(value) : isDate ? Number(value) : Number.NaN
  return isTime(time) && !areSeconds(value) ? undefined : 'ISO 8601, a Date, or milliseconds since 1970'
}

const check = new OptionChecker('manualClock')

/** Counts how often any manual clock was read: by a receiver, while a sender without one makes an attempt. */
export const reads = { count: 0 }
const noteRead = (elapsed: number) => {
  reads.count++
  return elapsed
}

interface Timer {
  readonly at: number
  readonly callback: () => void
}

/**
 * A clock for the `clock` option of receivers, stores and senders: it moves only when the test says so, and no global fake
 * timers are needed.
 *
 * @throws ConfigurationError `option_invalid`, also by `advance`
 * @param start the time at which it stands first: ISO 8601, a Date, or milliseconds since 1970
 * @example
 * const clock = manualClock('2025-01-01T00:00:00Z')
 * await clock.advance('5m30s')
 */
export function manualClock(start?: string | number | Date): ManualClock
export function manualClock(start: string | number | Date = '2025-01-01T00:00:00Z', next?: unknown): ManualClock {
  check.mustBe('start', start, TIME)
  check.mustEnd(next)
  const startMs = new Date(start).getTime()
  const timers = new Map<number, Timer>()
  const work = createWork()
  let [elapsed, count] = [0, 0]
  const move = createQueue(() => work.settle(elapsed))
  const nextAt = () => earliestOf(timers.values())
  const runDue = async (due: number) => {
    elapsed = due
    for (const [id, { callback }] of [...timers].filter(([, { at }]) => at === due)) {
      // One that went off just now may have cleared the others.
      if (!timers.delete(id)) continue
      callback()
      await work.settle(elapsed)
    }
  }
  return {
    get pending() {
      return timers.size
    },
    now: () => startMs + noteRead(elapsed),
    monotonic: () => noteRead(elapsed),
    setTimeout(callback, ms) {
      new OptionChecker('clock.setTimeout').mustBe('callback', callback, FUNCTION)
      timers.set(++count, { at: elapsed + (ms > 0 ? ms : 0), callback })
      return count
    },
    clearTimeout: (timer) => void timers.delete(timer as number), // only what setTimeout gave can be in the map
    track: work.add,
    async advance(by, next?: unknown) {
      const check = new OptionChecker('clock.advance')
      check.mustBe('by', by, DURATION)
      check.mustEnd(next)
      await move(async () => {
        const end = elapsed + parseDuration(by)
        let [last, rounds] = [Number.NaN, 0]
        for (let due = nextAt(); due !== undefined && due <= end; due = nextAt()) {
          rounds = due === last ? rounds + 1 : 0
          if (rounds === MAX_ROUNDS) throw new Error(ENDLESS)
          last = due
          await runDue(due)
        }
        elapsed = end
      })
    },
    async next(none?: unknown) {
      mustBeNoTime(none)
      return move(async () => {
        const due = nextAt()
        if (due !== undefined) await runDue(due)
        return due !== undefined
      })
    },
  }
}

/** Returns a function that runs moves one after the other, each after `settle`, even if a test does not wait for the first. */
function createQueue(settle: () => Promise<void>) {
  let moving: Promise<unknown> = Promise.resolve()
  return <T>(make: () => Promise<T>): Promise<T> => {
    const moved = moving.then(settle).then(make)
    moving = moved.catch(() => {})
    return moved
  }
}

function mustBeNoTime(none: unknown): void {
  if (typeof none === 'string' || typeof none === 'number')
    throw new OptionChecker('clock.next').invalid(`it takes nothing; to move by a time: advance(${show(none)}).`)
}

/** Returns undefined if no timer goes off ever. */
function earliestOf(timers: Iterable<Timer>): number | undefined {
  let first = Number.POSITIVE_INFINITY
  for (const { at } of timers) first = Math.min(first, at)
  return first === Number.POSITIVE_INFINITY ? undefined : first
}

/** Creates the work that is under way, for which the clock waits. */
function createWork() {
  const underWay = new Set<PromiseLike<unknown>>()
  /** Work that hung at a stop before. */
  const hanging = new WeakSet<PromiseLike<unknown>>()
  /** At which time something hung last. */
  let hungAt: number | undefined
  let ended = 0
  const patienceMs = (at: number) =>
    hungAt === at || [...underWay].every((work) => hanging.has(work)) ? PATIENCE_AGAIN_MS : PATIENCE_MS
  return {
    add(work: PromiseLike<unknown>): void {
      if (!isThenable(work)) throw new OptionChecker('clock.track').invalid('it takes a promise.')
      const end = () => {
        underWay.delete(work)
        ended++
      }
      underWay.add(work)
      work.then(end, end)
    },
    /** Waits until all that was set going at that time has come to rest. */
    async settle(at: number): Promise<void> {
      for (let turn = 0; turn < TURNS; turn++) await nextTurn()
      let [before, since] = [ended, real.performance.now()]
      for (let turn = 0; underWay.size > 0; turn++) {
        if (ended !== before) [before, since] = [ended, real.performance.now()]
        if (real.performance.now() - since >= patienceMs(at)) break
        await (turn < BUSY_TURNS ? nextTurn() : pause())
      }
      for (const work of underWay) {
        hanging.add(work)
        hungAt = at
      }
      for (let turn = 0; turn < TURNS; turn++) await nextTurn()
    },
  }
}

import type { Clock } from 'postern'
import { type Life, LONGEST_TIMER_MS } from '../life.ts'
import type { InboxHouse } from './inbox-house.ts'

/** The time between two searches of a worker for items. */
export const POLL_MS = 250
/** Renewals come at longer intervals than this; all other timers of a worker are shorter. */
const LONGEST_OTHER_MS = 1_000

interface Timer {
  readonly callback: () => void
  readonly at: number
  /** Undefined for a timer that is never skipped. */
  readonly every: number | undefined
  /** The time at which it fires; infinite as long as there is nothing to do. */
  firesAt: number
  slot: unknown
}

/**
 * The clock of a worker's loop. It skips searches without a result and renewals of nothing, which would be nearly all steps of a run of two
 * days: such a timer fires at the first of its times at which there is something to do.
 */
export class WorkerClock implements Clock {
  readonly #house: InboxHouse
  readonly #life: Life
  readonly #worker: string
  readonly #renewMs: number
  readonly #timers = new Set<Timer>()
  /** From then on, each timer fires when it is due. */
  #isClosing = false

  constructor(house: InboxHouse, life: Life, worker: string, leaseMs: number) {
    this.#house = house
    this.#life = life
    this.#worker = worker
    this.#renewMs = leaseMs / 3
    life.onDeath(house.listen(() => this.#rearm()))
  }

  get timersLeft(): number {
    return this.#timers.size
  }

  now(): number {
    return this.#life.clock.now()
  }

  monotonic(): number {
    return this.#life.clock.monotonic()
  }

  setTimeout(callback: () => void, ms: number): Timer {
    const isRenewal = ms > LONGEST_OTHER_MS && ms < this.#renewMs + 1
    const every = this.#isClosing ? undefined : ms === POLL_MS ? POLL_MS : isRenewal ? this.#renewMs : undefined
    // The end of time does not wake a worker that waits without a limit.
    const at = ms >= LONGEST_TIMER_MS ? Number.POSITIVE_INFINITY : this.#house.now + Math.max(1, Math.trunc(ms))
    const timer: Timer = {
      callback,
      at,
      every,
      firesAt: Number.POSITIVE_INFINITY,
      slot: undefined,
    }
    this.#timers.add(timer)
    this.#arm(timer)
    return timer
  }

  clearTimeout(timer: unknown): void {
    const { slot } = timer as Timer // what setTimeout above gave
    if (slot !== undefined) this.#life.driverClock.clearTimeout(slot)
    this.#timers.delete(timer as Timer) // as above
  }

  close(): void {
    this.#isClosing = true
    this.#rearm()
  }

  #rearm(): void {
    for (const timer of this.#timers) this.#arm(timer)
  }

  #arm(timer: Timer): void {
    const at = this.#timeOf(timer)
    // A timer that became due during a stall fires when the stall ends.
    if (at >= timer.firesAt) return
    if (timer.slot !== undefined) this.#life.driverClock.clearTimeout(timer.slot)
    timer.firesAt = at
    const fire = () => {
      this.#timers.delete(timer)
      timer.callback()
    }
    timer.slot = this.#life.driverClock.setTimeout(fire, at - this.#house.now)
  }

  /** Returns the first of a timer's times at which there is something to do. */
  #timeOf({ at, every }: Timer): number {
    if (every === undefined || this.#isClosing) return Math.max(at, this.#house.now)
    const { ledger, now } = this.#house
    const isRenewal = every !== POLL_MS
    const wanted = isRenewal
      ? ledger.holdsAnything(this.#worker)
        ? now
        : Number.POSITIVE_INFINITY
      : ledger.nextFor(this.#worker)
    return at + Math.max(0, Math.ceil((Math.max(wanted, now) - at) / every)) * every
  }
}

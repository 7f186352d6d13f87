import type { Outcome } from '../protocol/outcome.ts'
import { asJoined } from './outcomes.ts'
import type { Delivery, RunHost } from './run-host.ts'

interface Waiter {
  readonly delivery: Delivery
  readonly isCopy: boolean
  readonly resolve: (outcome: Outcome) => void
  timer: unknown
}

/** The deliveries that wait for one run, each until its own deadline. */
export class Waiters {
  readonly #host: RunHost
  readonly #onDeadline: (delivery: Delivery) => Outcome
  readonly #waiters = new Set<Waiter>()
  /** The deadline of whoever waits longest, on the monotonic clock. */
  latestDeadline = Number.NEGATIVE_INFINITY

  /** @param onDeadline gives the answer of a delivery that can't wait any longer, and is not counted among the others any more */
  constructor(host: RunHost, onDeadline: (delivery: Delivery) => Outcome) {
    this.#host = host
    this.#onDeadline = onDeadline
  }

  get isEmpty(): boolean {
    return this.#waiters.size === 0
  }

  add(delivery: Delivery, isCopy: boolean): Promise<Outcome> {
    const { clock, deadlineMs } = this.#host
    const deadline = delivery.startedAt + deadlineMs
    this.latestDeadline = Math.max(this.latestDeadline, deadline)
    return new Promise((resolve) => {
      const waiter: Waiter = { delivery, isCopy, resolve, timer: undefined }
      this.#waiters.add(waiter)
      // A run that ends within this turn of the event loop never costs a timer.
      queueMicrotask(() => {
        if (this.#waiters.has(waiter))
          waiter.timer = clock.setTimeout(
            () => {
              this.#waiters.delete(waiter)
              this.#answer(waiter, this.#onDeadline(delivery))
            },
            Math.max(deadline - clock.monotonic(), 0),
          )
      })
    })
  }

  answerAll(outcome: Outcome): void {
    for (const waiter of this.#waiters) this.#answer(waiter, outcome)
  }

  /** Gives work that goes on after the answers to the hosts of everybody who waits. */
  handOverAll(work: () => Promise<void>): void {
    for (const { delivery } of this.#waiters) handOver(this.#host, delivery, work)
  }

  #answer(waiter: Waiter, outcome: Outcome): void {
    this.#waiters.delete(waiter)
    if (waiter.timer !== undefined) this.#host.clock.clearTimeout(waiter.timer)
    waiter.resolve(waiter.isCopy ? asJoined(outcome) : outcome)
  }
}

/** A serverless host may freeze the process once the answer is out, unless it is told what still goes on. */
export function handOver(host: RunHost, { waitUntil }: Delivery, work: () => Promise<void>): void {
  if (waitUntil !== undefined) host.reporter.callHook('waitUntil', waitUntil, work())
}

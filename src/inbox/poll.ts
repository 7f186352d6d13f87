import { LONGEST_TIMER_MS, sleep } from '../host/clock.ts'
import { waitFor } from '../host/wait-for.ts'
import type { InboxEntry, InboxLoop, InboxWorkOptions, Settlement, TakenItem } from './inbox.ts'
import type { InboxTable, Taken } from './inbox-table.ts'
import { createSolitude, type Solitude } from './solitude.ts'

/** Time between two polls for items that other processes put or that became due, in milliseconds. */
const POLL_MS = 250
/** Delay before the next poll after the engine failed, in milliseconds. */
const AGAIN_MS = 1_000
/** Delay before the next renewal after one failed, in milliseconds. */
const RENEW_AGAIN_MS = 500
/**
 * Wait after `close` aborted the items that still ran, in milliseconds: as long again as before within these bounds. A handler that ignores
 * its abort is given up after 5 s, and its try settled.
 */
const AFTER_ABORT_MS = { least: 1_000, most: 8_000 }
/** Time in which what still runs then is given back, in milliseconds, if the engine answers. */
const GIVE_BACK_MS = 1_000

/** Implements `Inbox.work` for an engine that is polled. */
export function pollInbox(
  table: InboxTable,
  worker: string,
  run: (item: TakenItem) => Promise<Settlement>,
  options: InboxWorkOptions,
): InboxLoop {
  return new Poller({ ...options, table, worker, run })
}

interface PollerParts extends InboxWorkOptions {
  readonly table: InboxTable
  readonly worker: string
  readonly run: (item: TakenItem) => Promise<Settlement>
}

class Poller implements InboxLoop {
  readonly #parts: PollerParts
  /** One signal for each run: a shared signal would have a listener for each, about which Node.js warns. */
  readonly #running = new Map<AbortController, { readonly item: TakenItem; readonly ended: Promise<void> }>()
  readonly #stopListening: () => void
  /** Settles when the worker takes no more items. */
  readonly #taking: Promise<void>
  #wake: (() => void) | undefined
  /** True if an item came in or ended while the loop was not waiting. */
  #isAwake = false
  readonly #solitude: Solitude
  #begun = 0
  #isClosing = false
  #hasAborted = false
  #hasGivenBack = false
  #renewTimer: unknown

  constructor(parts: PollerParts) {
    this.#parts = parts
    this.#solitude = createSolitude(() => parts.clock.monotonic(), parts.leaseMs / 3)
    this.#stopListening = parts.table.onPut(() => this.#awake())
    this.#renewLater(parts.leaseMs / 3)
    this.#taking = this.#takeAndRun()
  }

  async #takeAndRun(): Promise<void> {
    while (!this.#isClosing) {
      const aloneMs = this.#solitude.leftMs()
      if (aloneMs > 0 || this.#room === 0) {
        if (this.#running.size === 0) this.#parts.onIdle?.()
        await this.#pause(aloneMs > 0 ? aloneMs : undefined)
        continue
      }
      const taken = await this.#take()
      for (const item of taken?.items ?? []) this.#begin(item, taken?.ranMs !== undefined)
      if (taken?.isCut !== true) await this.#pause(taken === undefined ? AGAIN_MS : POLL_MS)
    }
  }

  /** The number of items that may begin now. */
  get #room(): number {
    const { concurrency, max = Number.POSITIVE_INFINITY } = this.#parts
    return Math.min(concurrency - this.#running.size, max - this.#begun)
  }

  async close(timeoutMs: number): Promise<number> {
    this.#isClosing = true
    this.#stopListening()
    this.#awake()
    if (!(await this.#isIdleWithin(timeoutMs))) {
      this.#hasAborted = true
      for (const abort of this.#running.keys()) abort.abort()
      await this.#isIdleWithin(Math.min(Math.max(timeoutMs, AFTER_ABORT_MS.least), AFTER_ABORT_MS.most))
      await this.#isWithin(this.#giveBack(), GIVE_BACK_MS)
    }
    const { clock, table } = this.#parts
    clock.clearTimeout(this.#renewTimer)
    if (this.#running.size === 0 && table.leave !== undefined) await this.#isWithin(table.leave(), GIVE_BACK_MS)
    return this.#running.size
  }

  /** Makes what still runs wait again: the process may end now, which is no death. Its claim in the store holds until it is given up. */
  async #giveBack(): Promise<void> {
    const { table, worker, onError, onSettled } = this.#parts
    this.#hasGivenBack = true
    const giveBack = async ({ item }: { readonly item: TakenItem }) => {
      if (await table.settle(item, worker, GIVEN_BACK)) onSettled(item, GIVEN_BACK)
    }
    await Promise.all([...this.#running.values()].map((each) => giveBack(each).catch(onError)))
  }

  async #take(): Promise<Taken | undefined> {
    const { table, worker, leaseMs, onError, onIdle } = this.#parts
    try {
      const isIdle = this.#running.size === 0
      const suspects = this.#solitude.wish(isIdle)
      const taken = await table.take({ worker, limit: this.#room, leaseMs, suspects })
      this.#solitude.onTaken(taken, isIdle)
      if (isIdle && suspects === 'take' && taken.items.length === 0) onIdle?.()
      return taken
    } catch (error) {
      onError(error)
      return undefined
    }
  }

  #begin(entry: InboxEntry, isSuspect: boolean): void {
    this.#begun++
    const abort = new AbortController()
    const item: TakenItem = { ...entry, worker: this.#parts.worker, isSuspect, signal: abort.signal }
    const ended = this.#runAndSettle(item).finally(() => {
      this.#running.delete(abort)
      if (isSuspect) this.#solitude.onSuspectEnd()
      this.#awake()
    })
    this.#running.set(abort, { item, ended })
  }

  async #runAndSettle(item: TakenItem): Promise<void> {
    const { table, worker, run, onError, onSettled, onStalled } = this.#parts
    const settlement = this.#isClosing ? GIVEN_BACK : await run(item)
    if (this.#hasGivenBack && settlement !== GIVEN_BACK) return
    for (;;) {
      try {
        if (await table.settle(item, worker, settlement)) onSettled(item, settlement)
        else onStalled?.(item)
        return
      } catch (error) {
        onError(error)
      }
      if (this.#hasAborted) return // its lease expires by itself
      await sleep(this.#parts.clock, AGAIN_MS)
    }
  }

  #renewLater(ms: number): void {
    this.#renewTimer = this.#parts.clock.setTimeout(() => void this.#renew(), ms)
  }

  /** Renews at each third of the lease, and sooner after a failure: a lease of 15 s survives an outage of 10 s. */
  async #renew(): Promise<void> {
    const { table, worker, clock, leaseMs, onError } = this.#parts
    const startedAt = clock.monotonic()
    let waitMs = leaseMs / 3
    try {
      if (this.#running.size > 0) await table.renew(worker, leaseMs)
    } catch (error) {
      onError(error)
      waitMs = Math.min(RENEW_AGAIN_MS, leaseMs / 10)
    }
    if (!this.#hasGivenBack && (!this.#isClosing || this.#running.size > 0))
      this.#renewLater(Math.max(startedAt + waitMs - clock.monotonic(), 0))
  }

  // ── Waiting ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Waits until an item comes in or ends, or the time is over. */
  async #pause(ms = LONGEST_TIMER_MS): Promise<void> {
    if (!this.#isAwake && !this.#isClosing)
      await new Promise<void>((resolve) => {
        const timer = this.#parts.clock.setTimeout(resolve, ms)
        this.#wake = () => {
          this.#parts.clock.clearTimeout(timer)
          resolve()
        }
      })
    this.#wake = undefined
    this.#isAwake = false
  }

  #awake(): void {
    this.#isAwake = true
    this.#wake?.()
  }

  #isIdleWithin(timeoutMs: number): Promise<boolean> {
    // A poll in progress may still take items, which are released again.
    const idle = this.#taking.then(() => Promise.all([...this.#running.values()].map(({ ended }) => ended)))
    return this.#isWithin(idle, timeoutMs)
  }

  #isWithin(settled: Promise<unknown>, timeoutMs: number): Promise<boolean> {
    const limitMs = Math.min(timeoutMs, LONGEST_TIMER_MS)
    return waitFor(
      this.#parts.clock,
      settled,
      limitMs,
      () => true,
      () => false,
    )
  }
}

/** Settlement of an item that has not begun, or has not ended, when the worker is closed. */
const GIVEN_BACK: Settlement = { next: 'wait', afterMs: 0, isFailure: false }

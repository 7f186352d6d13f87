import { LONGEST_TIMER_MS, sleep } from '../host/clock.ts'
import type { InboxEntry, InboxLoop, InboxWorkOptions, Settlement, TakenItem } from './inbox.ts'

/** An engine that is asked for items again and again. Each step is atomic, and rejects only if the engine cannot be reached. */
export interface InboxTable {
  /** Takes the next items that are due, the accounts in turn, each for `leaseMs` from now. */
  take(request: TakeRequest): Promise<Taken>
  /** Extends the lease of all that the worker holds to `leaseMs` from now. */
  renew(worker: string, leaseMs: number): Promise<unknown>
  /** Resolves with false, and does nothing, if the worker does not hold the item any more. */
  settle(item: InboxEntry, worker: string, settlement: Settlement): Promise<boolean>
  /** Calls back whenever this process puts an item in. Returns what ends that. */
  onPut(callback: () => void): () => void
}

export interface TakeRequest {
  readonly worker: string
  readonly limit: number
  readonly leaseMs: number
  /** Whether nothing else runs in this worker, so that it may be given an item whose last worker died. */
  readonly isIdle: boolean
}

/** What a worker is given. */
export interface Taken {
  readonly items: readonly InboxEntry[]
  /** An item whose last worker died is due: nothing more is taken until it has run by itself. If it is in `items`, it is alone there. */
  readonly hasSuspect: boolean
}

/** Between two looks for what other processes have put in, or what has become due, in milliseconds. */
const POLL_MS = 250
/** An engine that failed is asked again after this time, in milliseconds. */
const AGAIN_MS = 1_000
/** The time from one renewal that failed to the next one, in milliseconds. */
const RENEW_AGAIN_MS = 500
/** After the abort of what outlasted `close`: a handler is given up after 5 s, and its try is settled then. */
const AFTER_ABORT_MS = 8_000

/** Works through a table, as `Inbox.work` wants it. */
export function pollInbox(
  table: InboxTable,
  worker: string,
  run: (item: TakenItem) => Promise<Settlement>,
  options: InboxWorkOptions,
): InboxLoop {
  return new Poller(table, worker, run, options)
}

class Poller implements InboxLoop {
  readonly #table: InboxTable
  readonly #worker: string
  readonly #run: (item: TakenItem) => Promise<Settlement>
  readonly #options: InboxWorkOptions
  /** A signal for each: one for all would have a listener for each, of which Node.js warns. */
  readonly #running = new Map<AbortController, Promise<void>>()
  readonly #stopListening: () => void
  /** Settles when nothing more is taken. */
  readonly #taking: Promise<void>
  #wake: (() => void) | undefined
  /** Something came while nobody waited for it. */
  #isAwake = false
  /** What runs is an item whose last worker died. */
  #isAlone = false
  #isClosing = false
  #hasAborted = false
  #renewTimer: unknown

  constructor(
    table: InboxTable,
    worker: string,
    run: (item: TakenItem) => Promise<Settlement>,
    options: InboxWorkOptions,
  ) {
    this.#table = table
    this.#worker = worker
    this.#run = run
    this.#options = options
    this.#stopListening = table.onPut(() => this.#awake())
    this.#renewLater(options.leaseMs / 3)
    this.#taking = this.#takeAndRun()
  }

  async #takeAndRun(): Promise<void> {
    const { concurrency, leaseMs } = this.#options
    while (!this.#isClosing) {
      const limit = this.#isAlone ? 0 : concurrency - this.#running.size
      if (limit === 0) {
        await this.#pause()
        continue
      }
      const isIdle = this.#running.size === 0
      const taken = await this.#take({ worker: this.#worker, limit, leaseMs, isIdle })
      for (const item of taken?.items ?? []) this.#begin(item, taken?.hasSuspect === true)
      this.#isAlone = taken?.hasSuspect === true && taken.items.length > 0
      if (this.#isAlone || taken?.items.length === limit) continue
      await this.#pause(taken === undefined ? AGAIN_MS : POLL_MS)
    }
  }

  async close(timeoutMs: number): Promise<number> {
    this.#isClosing = true
    this.#stopListening()
    this.#awake()
    if (!(await this.#isIdleWithin(timeoutMs))) {
      this.#hasAborted = true
      for (const abort of this.#running.keys()) abort.abort()
      await this.#isIdleWithin(AFTER_ABORT_MS)
    }
    // What still runs keeps its lease while the process lives.
    if (this.#running.size === 0) this.#options.clock.clearTimeout(this.#renewTimer)
    return this.#running.size
  }

  async #take(request: TakeRequest): Promise<Taken | undefined> {
    try {
      return await this.#table.take(request)
    } catch (error) {
      this.#options.onError(error)
      return undefined
    }
  }

  #begin(entry: InboxEntry, isSuspect: boolean): void {
    const abort = new AbortController()
    const item: TakenItem = { ...entry, worker: this.#worker, isSuspect, signal: abort.signal }
    const ended = this.#runAndSettle(item).finally(() => {
      this.#running.delete(abort)
      if (this.#running.size === 0) this.#isAlone = false
      this.#awake()
    })
    this.#running.set(abort, ended)
  }

  async #runAndSettle(item: TakenItem): Promise<void> {
    const { onError, onSettled, onStalled } = this.#options
    const settlement = this.#isClosing ? GIVEN_BACK : await this.#run(item)
    for (;;) {
      try {
        if (await this.#table.settle(item, this.#worker, settlement)) onSettled(item, settlement)
        else onStalled?.(item)
        return
      } catch (error) {
        onError(error)
      }
      if (this.#hasAborted) return // its lease ends by itself
      await sleep(this.#options.clock, AGAIN_MS)
    }
  }

  #renewLater(ms: number): void {
    this.#renewTimer = this.#options.clock.setTimeout(() => void this.#renew(), ms)
  }

  /** At each third of the lease, and sooner after a failure: a lease of 15 s outlives an outage of ten. */
  async #renew(): Promise<void> {
    const { clock, leaseMs, onError } = this.#options
    const startedAt = clock.monotonic()
    let waitMs = leaseMs / 3
    try {
      if (this.#running.size > 0) await this.#table.renew(this.#worker, leaseMs)
    } catch (error) {
      onError(error)
      waitMs = Math.min(RENEW_AGAIN_MS, leaseMs / 10)
    }
    if (!this.#isClosing || this.#running.size > 0)
      this.#renewLater(Math.max(startedAt + waitMs - clock.monotonic(), 0))
  }

  // ── Waiting ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Waits until something comes in or ends, or for a time. */
  async #pause(ms = LONGEST_TIMER_MS): Promise<void> {
    if (!this.#isAwake && !this.#isClosing)
      await new Promise<void>((resolve) => {
        const timer = this.#options.clock.setTimeout(resolve, ms)
        this.#wake = () => {
          this.#options.clock.clearTimeout(timer)
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

  async #isIdleWithin(timeoutMs: number): Promise<boolean> {
    const { clock } = this.#options
    let timer: unknown
    const timeUp = new Promise<boolean>((resolve) => {
      timer = clock.setTimeout(() => resolve(false), Math.min(timeoutMs, LONGEST_TIMER_MS))
    })
    // A look that is under way may bring more, which is given back.
    const idle = this.#taking.then(() => Promise.all(this.#running.values())).then(() => true)
    const isIdle = await Promise.race([timeUp, idle])
    clock.clearTimeout(timer)
    return isIdle
  }
}

/** It came while the worker was being closed, and has not begun. */
const GIVEN_BACK: Settlement = { next: 'wait', afterMs: 0, isFailure: false }

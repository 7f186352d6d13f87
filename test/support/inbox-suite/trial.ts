import { deepStrictEqual } from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Clock, systemClock } from '../../../src/host/clock.ts'
import type {
  Inbox,
  InboxEntry,
  InboxItem,
  InboxLoop,
  InboxTry,
  InboxWorkOptions,
  Settlement,
  TakenItem,
} from '../../../src/inbox/inbox.ts'

export type Runs = Readonly<Record<string, (trial: Trial) => Promise<void>>>

/** Time limit of a wait, in milliseconds: longer than any wait of a case takes on a very busy machine. */
const LIMIT_MS = 30_000
const LEASE_MS = 10_000
/** Long enough for a worker to renew it in time on a busy machine. */
export const SHORT_LEASE_MS = 1_500

export const DONE: Settlement = { next: 'remove' }

/** Clock whose timers do not fire while it is stopped, as in a process that is suspended or dead. */
export class StoppableClock implements Clock {
  readonly now = systemClock.now
  readonly monotonic = systemClock.monotonic
  #stopped: (() => void)[] | undefined

  setTimeout(callback: () => void, ms: number): unknown {
    return systemClock.setTimeout(() => (this.#stopped === undefined ? callback() : this.#stopped.push(callback)), ms)
  }

  clearTimeout(timer: unknown): void {
    systemClock.clearTimeout(timer)
  }

  stop(): void {
    this.#stopped = []
  }

  resume(): void {
    const due = this.#stopped ?? []
    this.#stopped = undefined
    for (const callback of due) callback()
  }
}

type Run = (item: TakenItem) => Settlement | Promise<Settlement>
type WorkerOptions = Partial<InboxWorkOptions> & { readonly inbox?: Inbox }

/** Inbox of one case, which no other case uses, with the workers that the case started. */
export class Trial {
  readonly inbox: Inbox
  /** Second instance of the inbox on the same engine, as in another process. */
  readonly another: Inbox
  /** Items that workers took, in this order, except for workers that die. */
  readonly taken: TakenItem[] = []
  readonly errors: unknown[] = []
  readonly settled: { readonly key: string; readonly next: Settlement['next'] }[] = []
  readonly stalled: string[] = []
  readonly #loops: InboxLoop[] = []
  readonly #dead: (() => void)[] = []

  constructor(inbox: Inbox, another: Inbox) {
    this.inbox = inbox
    this.another = another
  }

  get keysTaken(): readonly string[] {
    return this.taken.map(({ key }) => key)
  }

  work(run: Run, options?: WorkerOptions): InboxLoop {
    const record = (item: TakenItem) => {
      this.taken.push(item)
      return run(item)
    }
    return this.#start(record, options)
  }

  #start(run: Run, { inbox = this.inbox, ...options }: WorkerOptions = {}): InboxLoop {
    const runOrFail = async (item: TakenItem) => {
      try {
        return await run(item)
      } catch (error) {
        this.errors.push(error)
        return DONE
      }
    }
    const loop = inbox.work(runOrFail, {
      concurrency: 10,
      leaseMs: LEASE_MS,
      clock: systemClock,
      ...options,
      onError: (error) => this.errors.push(error),
      onSettled: ({ key }, { next }) => this.settled.push({ key, next }),
      onStalled: ({ key }) => this.stalled.push(key),
    })
    this.#loops.push(loop)
    return loop
  }

  /** Starts a worker on the other instance, which dies when it has run the item for so long. `resume` settles what it ran. */
  async dieAt(key: string, ranMs = 0) {
    const clock = new StoppableClock()
    const ends: ((settle: (item: TakenItem) => Settlement) => void)[] = []
    let isRunning = false
    const run = (item: TakenItem) => {
      isRunning ||= item.key === key
      return new Promise<Settlement>((resolve) => void ends.push((settle) => resolve(settle(item))))
    }
    const loop = this.#start(run, { inbox: this.another, leaseMs: SHORT_LEASE_MS, clock })
    await this.until('a worker took it', () => isRunning)
    await sleep(ranMs)
    clock.stop()
    const resume = (settle: (item: TakenItem) => Settlement) => {
      clock.resume()
      for (const end of ends.splice(0)) end(settle)
    }
    this.#dead.push(() => resume(() => ({ next: 'wait', afterMs: 0, isFailure: false })))
    return { loop, resume }
  }

  async put(...items: readonly InboxItem[]): Promise<void> {
    for (const item of items) await this.inbox.put(item)
  }

  async get(key: string): Promise<InboxEntry> {
    const entry = await this.another.get(key)
    if (entry === undefined) throw new Error(`the inbox has no ${key}`)
    return entry
  }

  untilGone({ key }: InboxItem): Promise<void> {
    return this.until('it is gone', async () => (await this.inbox.get(key)) === undefined)
  }

  async until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
    const end = performance.now() + LIMIT_MS
    while (!(await isSo())) {
      if (performance.now() > end) throw new Error(`${what}: not within ${LIMIT_MS / 1000} s`)
      await sleep(5)
    }
  }

  async end(): Promise<void> {
    for (const resume of this.#dead) resume()
    await Promise.all(this.#loops.map((loop) => loop.close(0)))
    if (this.errors.length > 0) throw new AggregateError(this.errors, 'the engine, or a check, failed in a worker')
  }
}

export function makeItem({
  account = 'acme',
  ...given
}: Partial<InboxItem> & { readonly account?: string } = {}): InboxItem {
  const id = given.id ?? `evt_${randomUUID()}`
  const bytes = new TextEncoder().encode(`{"id":"${id}"}`)
  const now = Date.now()
  return {
    key: `suite:${account}:${id}`,
    bytes,
    accountKey: account,
    id,
    type: 'contact.created',
    receivedAt: now,
    ...given,
  }
}

export function expectWhole(entry: InboxItem, item: InboxItem): void {
  for (const name of ['key', 'accountKey', 'id', 'type', 'receivedAt', 'source', 'trace'] as const)
    deepStrictEqual(entry[name], item[name], name)
  deepStrictEqual(new Uint8Array(entry.bytes), item.bytes)
}

export function makeTry(item: TakenItem, code = 'handler_failed'): InboxTry {
  const n = (item.tries.at(-1)?.n ?? 0) + 1
  const { dueAt, worker } = item
  return { n, dueAt, startedAt: Date.now(), endedAt: Date.now(), code, error: 'it failed', worker }
}

export function fail(item: TakenItem, afterMs = 0): Settlement {
  return { next: 'wait', afterMs, isFailure: true, tried: makeTry(item) }
}

export function bury(item: TakenItem, marks: readonly string[] = []): Settlement {
  return { next: 'bury', marks, tried: makeTry(item, 'dead_letter') }
}

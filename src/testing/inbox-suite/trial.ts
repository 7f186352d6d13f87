import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../host/clock.ts'
import type { Inbox, InboxEntry, InboxItem, InboxLoop, InboxTry, Settlement, TakenItem } from '../../inbox/inbox.ts'

/** One thing that every inbox must do. */
export interface CaseDefinition {
  readonly name: string
  /** Throws where the inbox does not keep the contract. */
  run(trial: Trial): Promise<void>
}

/** Longer than what a case waits for takes on a machine that is very busy, in milliseconds. */
const LIMIT_MS = 30_000
const LEASE_MS = 10_000

export const DONE: Settlement = { next: 'remove' }

/** One case's inbox, which nobody else has, with the workers that it started. */
export class Trial {
  readonly inbox: Inbox
  /** Another one on the same engine, as another process has it. */
  readonly another: Inbox
  /** What failed in workers: the engine, or a check. */
  readonly errors: unknown[] = []
  readonly #loops: InboxLoop[] = []

  constructor(inbox: Inbox, another: Inbox) {
    this.inbox = inbox
    this.another = another
  }

  /** Works through the inbox until the case ends. */
  work(
    run: (item: TakenItem) => Settlement | Promise<Settlement>,
    { inbox = this.inbox, concurrency = 10 }: { readonly inbox?: Inbox; readonly concurrency?: number } = {},
  ): InboxLoop {
    const runOrFail = async (item: TakenItem) => {
      try {
        return await run(item)
      } catch (error) {
        this.errors.push(error)
        return DONE
      }
    }
    const loop = inbox.work(runOrFail, {
      concurrency,
      leaseMs: LEASE_MS,
      clock: systemClock,
      onError: (error) => this.errors.push(error),
      onSettled: () => {},
    })
    this.#loops.push(loop)
    return loop
  }

  /** Puts items in, one after another. */
  async put(...items: readonly InboxItem[]): Promise<void> {
    for (const item of items) await this.inbox.put(item)
  }

  async get(key: string): Promise<InboxEntry> {
    const entry = await this.another.get(key)
    if (entry === undefined) throw new Error(`the inbox has no ${key}`)
    return entry
  }

  /** Waits until something is so. */
  async until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
    const end = performance.now() + LIMIT_MS
    while (!(await isSo())) {
      if (performance.now() > end) throw new Error(`${what}: not within ${LIMIT_MS / 1000} s`)
      await sleep(5)
    }
  }

  async end(): Promise<void> {
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

/** A try, as a worker tells of it. */
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

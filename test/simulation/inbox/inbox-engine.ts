import type { InboxEntry, InboxItem, Settlement, Taken, TakeRequest } from 'postern'

/** The last tries that an item keeps. */
const TRIES_KEPT = 20

/** An inbox's engine, each method of which is one atomic step. */
export interface InboxEngine {
  /** Returns whether there is something new to run. */
  put(item: InboxItem): boolean
  take(request: TakeRequest): Taken
  renew(worker: string, leaseMs: number): void
  /** Returns whether the worker still held the item. */
  settle(item: InboxEntry, worker: string, settlement: Settlement): boolean
  replay(key: string): boolean
  drop(key: string): boolean
}

interface Row {
  entry: InboxEntry
  /** Its worker died: it runs once more, with nothing else at the same time. */
  isSuspect: boolean
  isAlone: boolean
  worker: string
  endsAt: number
}

/**
 * The contract of an inbox in its plainest form, on its own clock. It survives the processes that use it. Accounts take turns: the one that
 * was served longest ago is next.
 */
export class PlainInboxEngine implements InboxEngine {
  readonly #now: () => number
  readonly #rows = new Map<string, Row>()
  readonly #servedAt = new Map<string, number>()
  #served = 0

  constructor(now: () => number) {
    this.#now = now
  }

  put(item: InboxItem): boolean {
    if (this.#rows.has(item.key)) return this.replay(item.key)
    const now = this.#now()
    const fresh = { state: 'waiting', dueAt: now, since: now, failures: 0, deaths: 0, marks: [], tries: [] } as const
    const entry: InboxEntry = { ...item, bytes: new Uint8Array(item.bytes), ...fresh }
    this.#rows.set(item.key, { entry, isSuspect: false, isAlone: false, worker: '', endsAt: 0 })
    return true
  }

  take({ worker, limit, leaseMs, isIdle }: TakeRequest): Taken {
    const now = this.#now()
    this.#endLeases(worker, now)
    const due = [...this.#rows.values()].filter(({ entry }) => entry.state === 'waiting' && entry.dueAt <= now)
    const suspects = due.filter(({ isSuspect }) => isSuspect)
    const start = (row: Row): InboxEntry => {
      row.isAlone = row.isSuspect
      row.isSuspect = false
      row.worker = worker
      row.endsAt = now + leaseMs
      this.#servedAt.set(row.entry.accountKey, ++this.#served)
      return this.#change(row, { state: 'running' })
    }
    if (suspects.length > 0) return { items: isIdle ? oldest(suspects).slice(0, 1).map(start) : [], hasSuspect: true }
    const items: InboxEntry[] = []
    for (let left = due; left.length > 0 && items.length < limit; ) {
      const next = this.#nextOf(left)
      left = left.filter((row) => row !== next)
      items.push(start(next))
    }
    return { items, hasSuspect: false }
  }

  renew(worker: string, leaseMs: number): void {
    for (const row of this.#rows.values())
      if (row.entry.state === 'running' && row.worker === worker) row.endsAt = this.#now() + leaseMs
  }

  settle(item: InboxEntry, worker: string, settlement: Settlement): boolean {
    const row = this.#rows.get(item.key)
    if (row === undefined || row.entry.state !== 'running' || row.worker !== worker) return false
    // A settlement that arrives late may be about an earlier take of the same worker.
    if (item.tries.at(-1)?.n !== row.entry.tries.at(-1)?.n || item.since !== row.entry.since) return false
    const now = this.#now()
    if (settlement.next === 'remove') return this.#rows.delete(item.key)
    const tries = settlement.tried === undefined ? item.tries : [...item.tries, settlement.tried].slice(-TRIES_KEPT)
    if (settlement.next === 'bury') {
      this.#change(row, { state: 'dead', dueAt: now, marks: settlement.marks, tries })
      row.isSuspect = false
      return true
    }
    const isUnproven = settlement.isUnproven === true || settlement.tried === undefined
    row.isSuspect = isUnproven && row.isAlone
    const { failures, deaths } = row.entry
    this.#change(row, {
      state: 'waiting',
      dueAt: now + Math.ceil(settlement.afterMs),
      failures: failures + (settlement.isFailure ? 1 : 0),
      deaths: isUnproven ? deaths : 0,
      tries,
    })
    return true
  }

  replay(key: string): boolean {
    const row = this.#rows.get(key)
    if (row?.entry.state !== 'dead') return false
    const now = this.#now()
    row.isSuspect = false
    this.#change(row, { state: 'waiting', dueAt: now, since: now, failures: 0, deaths: 0 })
    return true
  }

  drop(key: string): boolean {
    const row = this.#rows.get(key)
    return row !== undefined && row.entry.state !== 'running' && this.#rows.delete(key)
  }

  entries(): readonly InboxEntry[] {
    return [...this.#rows.values()].map(({ entry }) => entry)
  }

  /** The worker that asks is excluded: it is alive, whatever delayed it. */
  #endLeases(worker: string, now: number): void {
    for (const row of this.#rows.values()) {
      if (row.entry.state !== 'running' || row.worker === worker || row.endsAt >= now) continue
      this.#change(row, { state: 'waiting', deaths: row.entry.deaths + (row.isAlone ? 1 : 0) })
      row.isSuspect = true
    }
  }

  #nextOf(rows: readonly Row[]): Row {
    const servedAt = ({ entry }: Row) => this.#servedAt.get(entry.accountKey) ?? 0
    const [next] = oldest(rows).toSorted((one, other) => servedAt(one) - servedAt(other))
    if (next === undefined) throw new RangeError('There is no row to choose from.')
    return next
  }

  #change(row: Row, changes: Partial<InboxEntry>): InboxEntry {
    row.entry = { ...row.entry, ...changes }
    return row.entry
  }
}

function oldest(rows: readonly Row[]): readonly Row[] {
  return rows.toSorted((one, other) => one.entry.dueAt - other.entry.dueAt)
}

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
  /** Leases that ended since its handlers last ran to their end. Two make it a suspect. */
  losses: number
  isAlone: boolean
  /** The worker that holds it; for a suspect that waits, the worker that makes room for it. */
  worker: string
  takenAt: number
  endsAt: number
  ranMs: number
  /** The worker whose lease ended last, unless the item was settled since, and whether it ran alone there. */
  lostBy: string
  wasAlone: boolean
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
    const unlost = { losses: 0, ranMs: 0, lostBy: '', wasAlone: false }
    this.#rows.set(item.key, { entry, ...unlost, isAlone: false, worker: '', takenAt: 0, endsAt: 0 })
    return true
  }

  take({ worker, limit, leaseMs, suspects }: TakeRequest): Taken {
    const now = this.#now()
    this.#revive(worker, leaseMs)
    for (const row of this.#heldBy(worker)) if (suspects === 'join') row.isAlone = false
    this.#endLeases(worker, now, leaseMs)
    const due = [...this.#rows.values()].filter(({ entry }) => entry.state === 'waiting' && entry.dueAt <= now)
    const start = (row: Row): InboxEntry => {
      Object.assign(row, { worker, takenAt: now, endsAt: now + leaseMs })
      this.#servedAt.set(row.entry.accountKey, ++this.#served)
      return this.#change(row, { state: 'running' })
    }
    const [suspect] = oldest(due.filter(({ losses }) => losses > 1))
    if (suspect !== undefined && !this.#isOneAlone()) {
      if (suspects === 'take') {
        suspect.isAlone = true
        return { items: [start(suspect)], ranMs: suspect.ranMs }
      }
      const isFree = suspect.worker === '' || Math.abs(now - suspect.takenAt) > leaseMs
      if (suspects === 'await' && isFree) Object.assign(suspect, { worker, takenAt: now })
      if (suspects === 'await' && suspect.worker === worker) return { items: [], isAwaited: true }
    }
    const items: InboxEntry[] = []
    for (let left = due.filter(({ losses }) => losses < 2); left.length > 0 && items.length < limit; ) {
      const next = this.#nextOf(left)
      left = left.filter((row) => row !== next)
      items.push(start(next))
    }
    return { items }
  }

  renew(worker: string, leaseMs: number): void {
    this.#revive(worker, leaseMs)
    for (const row of this.#heldBy(worker)) row.endsAt = this.#now() + leaseMs
  }

  settle(item: InboxEntry, worker: string, settlement: Settlement): boolean {
    const row = this.#rows.get(item.key)
    if (row?.lostBy === worker) this.#reviveRow(row, this.#now())
    if (row === undefined || row.entry.state !== 'running' || row.worker !== worker) return false
    // A settlement that arrives late may be about an earlier take of the same worker.
    if (item.tries.at(-1)?.n !== row.entry.tries.at(-1)?.n || item.since !== row.entry.since) return false
    const now = this.#now()
    if (settlement.next === 'remove') return this.#rows.delete(item.key)
    const tries = settlement.tried === undefined ? item.tries : [...item.tries, settlement.tried].slice(-TRIES_KEPT)
    Object.assign(row, { worker: '', isAlone: false, lostBy: '' })
    if (settlement.next === 'bury') {
      this.#change(row, { state: 'dead', dueAt: now, marks: settlement.marks, tries })
      return true
    }
    const isUnproven = settlement.isUnproven === true || settlement.tried === undefined
    const { failures, deaths } = row.entry
    row.losses = isUnproven ? row.losses : 0
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
    row.losses = 0
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
  #endLeases(worker: string, now: number, leaseMs: number): void {
    for (const row of this.#rows.values()) {
      if (row.entry.state !== 'running' || row.worker === worker || row.endsAt >= now) continue
      this.#change(row, { state: 'waiting', deaths: row.entry.deaths + (row.isAlone ? 1 : 0) })
      const ranMs = Math.max(row.endsAt - leaseMs - row.takenAt, 0)
      const lost = { lostBy: row.worker, wasAlone: row.isAlone, losses: row.losses + 1, ranMs }
      Object.assign(row, { ...lost, worker: '', isAlone: false })
    }
  }

  /** The worker is alive: it still holds what no other has taken, and has caused no loss. */
  #revive(worker: string, leaseMs: number): void {
    for (const row of this.#rows.values()) if (row.lostBy === worker) this.#reviveRow(row, this.#now() + leaseMs)
  }

  #reviveRow(row: Row, endsAt: number): void {
    const { entry, lostBy: worker, wasAlone: isAlone } = row
    if (entry.state !== 'running') Object.assign(row, { worker, isAlone, endsAt })
    row.losses--
    row.lostBy = ''
    this.#change(row, { state: 'running', deaths: entry.deaths - (isAlone ? 1 : 0) })
  }

  #heldBy(worker: string): readonly Row[] {
    return [...this.#rows.values()].filter((row) => row.entry.state === 'running' && row.worker === worker)
  }

  #isOneAlone(): boolean {
    const isAlone = (row: Row) => row.entry.state === 'running' && row.isAlone && row.endsAt >= this.#now()
    return [...this.#rows.values()].some(isAlone)
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

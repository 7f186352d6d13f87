import {
  type InboxEntry,
  type InboxTable,
  keepTry,
  type Settlement,
  systemClock,
  type Taken,
  type TakeRequest,
} from '../../../../src/engine.ts'
import { BATCH, MOST_BYTES } from '../../inbox-lines.ts'
import { encodeKey, toArrayLiteral } from '../encode.ts'
import { Groups } from '../groups.ts'
import { NoAnswer } from '../pool.ts'
import { toAsciiJson, toEntry, toMs, toStoredLane } from './entry.ts'
import type { InboxTables } from './inbox-tables.ts'
import { ENTRY_LENGTH } from './pieces.ts'
import { Starts } from './starts.ts'

/** Ended leases are looked for at most once in this time, in milliseconds. */
const LOOK_EVERY_MS = 1_000
/** Added to the bytes that a take asks for, after each that was answered. */
const MORE_BYTES = MOST_BYTES / 32

/** An item as `take` returns it, and `settle` gets it back. */
interface HeldEntry extends InboxEntry {
  /** When it was taken: the same worker may take it again while a settlement has no answer. */
  readonly takenAt: string
}

interface Settled {
  readonly key: string
  /** The number of the worker. */
  readonly worker: string
  readonly taken: string
  readonly next: Settlement['next']
  /** In microseconds. */
  readonly delay?: number
  readonly failed?: 0 | 1
  /** 1 if the item keeps its losses and deaths. */
  readonly kept?: 0 | 1
  readonly marks?: string
  readonly tries?: string
  /** The lane of the item, in the form for statements. */
  readonly lane?: string
  /** 1 if the item leaves it. */
  readonly away?: 0 | 1
}

/** Answer to a settlement: true if the worker held the item; otherwise what there was. */
interface Answer {
  readonly isHeld: boolean
  readonly exists: boolean
  readonly tries: unknown
}

interface Parts extends Pick<InboxTable, 'onPut'> {
  readonly tables: InboxTables
  readonly worker: string
  readonly leaseMs: number
  /** Called before each search for items, for periodic tasks. */
  readonly tidy: () => Promise<void>
}

/** The steps of one worker. It has one lease for all its items. */
export class WorkTable implements InboxTable {
  readonly onPut: InboxTable['onPut']
  readonly #parts: Parts
  readonly #settlements: Groups<Settled, Answer>
  /** The worker's number, which stands in the rows that it holds. */
  #number = ''
  #renewedAt = Number.NEGATIVE_INFINITY
  #lookedAt = Number.NEGATIVE_INFINITY
  readonly #starts = new Starts()
  /** The last account whose due items were looked for by account. */
  #account = ''
  /** The keys of the items that run here, and when they were taken. */
  readonly #held = new Map<string, string>()
  /** Keys of items whose settlement got no answer: it may have been carried out. */
  readonly #inDoubt = new Set<string>()
  #isTaking = false
  /** The bytes that a take asks for: fewer after one without an answer, since the network may be slow. */
  #mostBytes = MOST_BYTES
  #comparedAt = Number.NEGATIVE_INFINITY
  /** The key of the suspect that runs here alone. */
  #alone: string | undefined

  constructor(parts: Parts) {
    this.onPut = parts.onPut
    this.#parts = parts
    const { explain } = parts.tables
    this.#settlements = new Groups({
      run: (settled) => this.#settleAll(settled),
      toError: explain,
      sizeOf: ({ tries = '' }) => tries.length,
      laneOf: ({ lane = '' }) => lane,
    })
  }

  async take(request: TakeRequest): Promise<Taken> {
    this.#isTaking = true
    try {
      await this.#parts.tidy()
      if (systemClock.monotonic() - this.#renewedAt > this.#parts.leaseMs / 3) await this.#renew()
      await this.#endLeases()
      await this.#giveBackUnknown()
      if (request.suspects === 'join') await this.#join()
      const taken = await this.#take(request)
      for (const item of taken.items) this.#held.set(encodeKey(item.key), takenAtOf(item))
      return taken
    } finally {
      this.#isTaking = false
    }
  }

  async leave(): Promise<void> {
    if (this.#number !== '') await this.#parts.tables.run(({ leave }) => leave, this.#number)
  }

  async #take(request: TakeRequest, isAgain = false): Promise<Taken> {
    const { limit, suspects } = request
    const asks = suspects === 'take' || suspects === 'await'
    let found = await this.#takeReady(limit, asks)
    if (asks && found.hasSuspect) {
      const taken = suspects === 'take' ? await this.#takeSuspect() : await this.#awaitSuspect()
      if (taken !== undefined) return taken
      found = await this.#takeReady(limit, false)
    }
    if (found.due.length === 0 || isAgain) return found
    await this.#promote(found.due)
    return found.items.length > 0 ? found : this.#take(request, true)
  }

  /** Takes ready items, and returns keys and accounts of due ones. */
  async #takeReady(limit: number, asks: boolean) {
    const { tables, worker } = this.#parts
    const search = this.#starts.begin()
    const given = [worker, limit, ...search.from, asks, this.#mostBytes]
    const [turn = [], ...rows] = await tables
      .run(({ take }) => take, ...given)
      .catch((error: unknown) => {
        if (error instanceof NoAnswer) this.#onNoTake()
        throw error
      })
    this.#mostBytes = Math.min(this.#mostBytes + MORE_BYTES, MOST_BYTES)
    const [, number, suspect, first, firstDue, now, isLarge, left] = turn
    tables.isLarge = isLarge === 'true'
    if (number === null) {
      await this.#renew() // the lease ended a moment ago
      return { items: [], due: [], hasSuspect: false }
    }
    const hasSuspect = suspect === 'true'
    if (!(hasSuspect && asks)) search.end([Number(first ?? now), Number(firstDue ?? now)])
    const of = (kind: string) => rows.filter((row) => row[0] === kind).map(([, ...row]) => row)
    return { items: of('item').map(toHeld), due: of('due'), hasSuspect, isCut: Number(left) > 0 }
  }

  /** Its items may have been taken. */
  #onNoTake(): void {
    this.#mostBytes = Math.ceil(this.#mostBytes / 4)
    this.#comparedAt = Number.NEGATIVE_INFINITY
  }

  /** If more are due than one step moves, those of an account do not keep the others waiting. */
  async #promote(due: readonly (readonly unknown[])[]): Promise<void> {
    const { tables } = this.#parts
    const more = due.length < BATCH ? [] : await tables.run(({ dueByAccount }) => dueByAccount, this.#account)
    this.#account = String(more.at(-1)?.[1] ?? '')
    const accounts = new Map([...more, ...due].filter(([key]) => key !== null).map(([key, account]) => [key, account]))
    await tables.runInTurn(
      ({ promote }) => promote,
      [...accounts.values()].map(String),
      (turns, nths, hint) => [toArrayLiteral([...accounts.keys()].map(String)), ...[turns, nths, hint]],
    )
  }

  async #takeSuspect(): Promise<Taken | undefined> {
    const [row] = await this.#parts.tables.run(({ takeSuspect }) => takeSuspect, this.#parts.worker)
    if (row === undefined) return undefined
    const item = toHeld(row)
    this.#alone = encodeKey(item.key)
    return { items: [item], ranMs: toMs(row[ENTRY_LENGTH + 2]) }
  }

  async #awaitSuspect(): Promise<Taken | undefined> {
    const { tables, worker, leaseMs } = this.#parts
    const rows = await tables.run(({ awaitSuspect }) => awaitSuspect, worker, leaseMs * 1_000)
    return rows.length === 0 ? undefined : { items: [], isAwaited: true }
  }

  async #join(): Promise<void> {
    if (this.#alone === undefined) return
    await this.#parts.tables.run(({ join }) => join, this.#parts.worker)
    this.#alone = undefined
  }

  async #endLeases(): Promise<void> {
    const now = systemClock.monotonic()
    if (now - this.#lookedAt < LOOK_EVERY_MS) return
    this.#lookedAt = now
    const { tables, worker } = this.#parts
    while ((await tables.run(({ endLeases }) => endLeases, worker)).length === BATCH);
  }

  async renew(): Promise<void> {
    await this.#renew()
    if (!this.#isTaking) await this.#giveBackUnknown()
  }

  async #renew(): Promise<void> {
    const { tables, worker, leaseMs } = this.#parts
    const sentAt = systemClock.monotonic()
    const [[number] = []] = await tables.run(({ renew }) => renew, worker, leaseMs * 1_000)
    this.#number = String(number)
    this.#renewedAt = sentAt
  }

  /**
   * Gives back what the worker holds without knowing: from a take that got no answer, or a server that has lost its last commits. No take must
   * be under way. If that fails, it is done a lease later: beside a transaction that stays open for hours, the search may take too long.
   */
  async #giveBackUnknown(): Promise<void> {
    if (systemClock.monotonic() - this.#comparedAt < this.#parts.leaseMs) return
    this.#comparedAt = systemClock.monotonic()
    const rows = await this.#parts.tables.run(({ held }) => held, this.#number).catch(() => [])
    const unknown = rows
      .map(([key, taken]) => ({ key: String(key), taken: String(taken), worker: this.#number }))
      .filter(({ key, taken }) => this.#held.get(key) !== taken)
    await Promise.allSettled(unknown.map((of) => this.#settlements.add({ ...GIVEN_BACK, ...of })))
  }

  async settle(item: InboxEntry, _worker: string, settlement: Settlement): Promise<boolean> {
    // If the lease has ended, the worker may still get the item back.
    if (systemClock.monotonic() - this.#renewedAt > this.#parts.leaseMs) await this.#renew()
    const settled = toSettled(item, this.#number, settlement)
    const { key, next, tries = null } = settled
    let answer: Answer
    try {
      answer = await this.#settlements.add(settled)
    } catch (error) {
      if (error instanceof NoAnswer) this.#inDoubt.add(key)
      throw error
    }
    const wasCarriedOut = next === 'remove' ? !answer.exists : answer.tries === tries
    const isSettled = answer.isHeld || (this.#inDoubt.has(key) && wasCarriedOut)
    this.#inDoubt.delete(key)
    if (this.#held.get(key) === settled.taken) this.#held.delete(key)
    // It is settled, whether or not the server learns of this now.
    if (this.#alone === key) await this.#join().catch(() => {})
    return isSettled
  }

  async #settleAll(settled: readonly Settled[]): Promise<readonly (Answer | undefined)[]> {
    const hasLanes = settled.some(({ lane }) => lane !== undefined)
    const rows = await this.#parts.tables.run(
      ({ settle, settleInLanes }) => (hasLanes ? settleInLanes : settle),
      JSON.stringify(settled),
    )
    const answers = new Map(
      rows.map(([key, isHeld, exists, tries]) => [
        key,
        { isHeld: isHeld === 'true', exists: exists === 'true', tries },
      ]),
    )
    return settled.map(({ key }) => answers.get(key))
  }
}

function toHeld(row: readonly unknown[]): HeldEntry {
  const [bytes, takenAt] = row.slice(ENTRY_LENGTH)
  return { ...toEntry(row, bytes, 'running'), takenAt: String(takenAt) }
}

function takenAtOf(item: InboxEntry): string {
  return (item as HeldEntry).takenAt // it comes from `take`
}

/** Settlement of an item that has not begun, and has proven nothing. */
const GIVEN_BACK = { next: 'wait', delay: 0, failed: 0, kept: 1 } as const

function toSettled(item: InboxEntry, worker: string, settlement: Settlement): Settled {
  const { next } = settlement
  const lane = toStoredLane(item)
  const of = { key: encodeKey(item.key), worker, taken: takenAtOf(item), ...(lane && { lane }) }
  if (next === 'remove') return { ...of, next }
  if (settlement.tried === undefined) return { ...of, ...GIVEN_BACK }
  const tries = toAsciiJson(keepTry(item.tries, settlement.tried))
  if (next === 'bury') return { ...of, ...GIVEN_BACK, next, tries, marks: toAsciiJson(settlement.marks) }
  const { afterMs, isFailure, isUnproven = false, leavesLane = false } = settlement
  const counts = { failed: isFailure ? 1 : 0, kept: isUnproven ? 1 : 0 } as const
  return { ...of, ...counts, next, tries, delay: Math.ceil(afterMs * 1_000), away: leavesLane ? 1 : 0 }
}

import type { Inbox, InboxCounts, InboxEntry, InboxItem, InboxPage, InboxState, InboxTry, ListOptions } from 'postern'
import {
  type InboxLoop,
  type InboxWorkOptions,
  pollInbox,
  type Settlement,
  type Taken,
  type TakenItem,
  type TakeRequest,
  TRIES_KEPT,
} from '../../src/engine.ts'

export const WAITS = 'tries again when it is told to, and not before'
export const COMES_AGAIN =
  'leaves an item as it is that comes again while it waits for its next try, which any worker makes'
export const OUTLASTS = 'leaves an item with its worker for longer than the lease'
/** Cases in which workers die, which take as long as their leases. */
const DEATHS = {
  'runs items beside each other whose worker died once': [
    'never ends a lease',
    'suspects what one worker died at',
    'renews what dead workers held',
    'names all workers alike',
  ],
  'runs an item alone at which two workers died, until it has run for longer than before': [
    'never ends a lease',
    'suspects nothing',
    'never lets others join',
    'lets others join at once',
  ],
  'counts the deaths of workers that ran an item alone, until its handlers run to their end': [
    'counts every death',
    'counts no death',
    'forgives a death for nothing',
    'never forgives a death',
  ],
  'leaves an item with a worker that was suspended if no other worker took it': [
    'takes an item from a suspended worker',
  ],
  'counts no death of a worker that was suspended, and does not let it settle what another one took': [
    'counts a suspended worker as dead',
    'lets anybody settle',
    'lets anybody bury',
    'never tells of what it lost',
  ],
  'replays a dead letter that three workers died at as if none had': ['replays with the deaths of before'],
} as const
export const NAMES_OF_DEATHS: readonly string[] = Object.keys(DEATHS)

/** Faults of a custom inbox, each in one line, which each case must notice. */
export const FAULTS = {
  'keeps an item byte for byte, where every process finds it': [
    'tells of an item before it has it',
    'keeps the body as text',
    'loses the trace',
    'loses the source',
    'shares nothing',
    'dates an item by its own clock',
  ],
  'leaves out what an item does not have': [
    'has null for what an item lacks',
    'has null for a missing state of a trace',
  ],
  'keeps bodies without and with many bytes': ['cuts long bodies off'],
  'holds keys apart that differ in little': ['ignores case', 'trims keys', 'cuts keys off'],
  'takes a key once, however many put it in at once': ['makes two items of a duplicate', 'never removes'],
  'leaves an item as it is that comes again while it runs': [
    'makes two items of a duplicate',
    'replaces an item that comes again',
    'never removes',
  ],
  [COMES_AGAIN]: [
    'resets the tries of an item that comes again',
    'ends the delay of an item that comes again',
    'replaces an item that comes again',
    'leaves a retry to the worker that failed',
  ],
  'keeps the place of an item that comes again while it waits': ['puts an item that comes again behind the others'],
  'takes a key again that is done': ['remembers what is done', 'never removes'],
  'counts, and finds nothing where there is nothing': [
    'knows no oldest item',
    'says that it dropped what is not there',
    'shares nothing',
  ],
  'gives a worker the item as it was put in': [
    'loses the source',
    'has workers without a name',
    'gives workers no trace',
    'gives workers the body as text',
  ],
  'runs what is there already, and what another process puts in': ['shares nothing'],
  'runs as many at once as it is told, and no more': ['runs more at once than it is told', 'runs one at a time'],
  'runs no more items in all than it is told, and tells when nothing runs and nothing can': [
    'runs more in all than it is told',
    'never says that it is idle',
    'says that it is idle while it runs items',
  ],
  'gives an item to one of several workers': ['gives one item to several workers'],
  [WAITS]: [
    'tries again at once the first time',
    'tries again at once from the second time on',
    'counts a delay from when the item was due',
  ],
  'counts the tries that count, and keeps each': [
    'counts every try',
    'counts no try',
    'keeps the last try only',
    'keeps a try that did not begin',
    'forgets the times of tries',
  ],
  'keeps the last 20 tries': ['keeps every try', 'keeps the last try only', 'keeps the first tries'],
  'shows what waits for its next try, and what runs': [
    'drops what runs',
    'counts what runs as waiting',
    'counts as due what is due later',
    'ends a long delay immediately',
    'lists what runs as waiting',
    'replays what runs',
    'never removes',
  ],
  'tells once of each item that it settled': ['never tells what it settled', 'tells twice what it settled'],
  [OUTLASTS]: ['never renews its leases'],
  'takes accounts in turn: the backlog of one does not stand before the first item of another': [
    'runs the backlog of an account first',
  ],
  'closes: takes nothing more, and waits for what runs': [
    'closes while items run',
    'takes more while it closes',
    'aborts at once when it closes',
    'never removes',
  ],
  'aborts what outlasts the time to close, and settles it': [
    'never aborts',
    'keeps what it gives back',
    'counts every try',
    'removes what is to wait',
  ],
  'counts what outlasts its closing, and has it wait again': [
    'says that nothing runs when it closes',
    'keeps what outlasts its closing',
  ],
  ...DEATHS,
  'keeps a dead letter with its try and its marks, and does not run it': [
    'buries with two marks at most',
    'buries without the try',
    'removes what is to be buried',
    'dates a dead letter by its receipt',
    'runs dead letters',
  ],
  'replays a dead letter with fresh tries and the marks that it kept': [
    'never says that it replayed',
    'replays anything',
    'replays without marks',
    'replays with the failures of before',
    'replays without the tries of before',
    'replays without the time of the replay',
    'never removes',
  ],
  'has a dead letter wait again that comes in again': [
    'leaves a dead letter dead that comes in again',
    'replays without marks',
  ],
  'replays once what is replayed twice at once': ['never says that it replayed', 'replays in two steps'],
  'replays only what is dead, and drops what is not wanted': [
    'replays anything',
    'drops no dead letter',
    'says that it dropped what is not there',
    'remembers what was dropped',
  ],
  'lists page by page, each item once': [
    'lists all on one page',
    'lists the first page again and again',
    'skips an item between pages',
  ],
  'lists what waits now and what waits for later': [
    'lists only what is due',
    'lists the first page again and again',
    'skips an item between pages',
  ],
} as const
export type Fault = (typeof FAULTS)[keyof typeof FAULTS][number]

interface Row extends InboxEntry {
  readonly turn: number
  readonly worker: string
  /** Beginning and end of the lease, in milliseconds since 1970. */
  readonly takenAt: number
  readonly leasedUntil: number
  readonly ranMs: number
  readonly losses: number
  readonly isAlone: boolean
  /** The worker that lost it last, unless it was settled since. */
  readonly lostBy: string
  readonly wasAlone: boolean
}

const LONG_MS = 3_600_000

export type MemoryTable = Map<string, Row>

/** The contract over one Map, with one fault at most. Only one suspect is due at a time in its tests. */
export class MemoryInbox implements Inbox {
  readonly #rows: MemoryTable
  readonly #done = new Set<string>()
  readonly #dropped = new Set<string>()
  readonly #listeners = new Set<() => void>()
  readonly #fault: Fault | 'none'

  constructor(name: string, tables: Map<string, MemoryTable>, fault: Fault | 'none') {
    const rows = tables.get(name) ?? new Map()
    tables.set(name, rows)
    this.#fault = fault
    this.#rows = this.#has('shares nothing') ? new Map() : rows
  }

  async put(item: InboxItem): Promise<void> {
    if (!this.#has('tells of an item before it has it')) return this.#put(item)
    setTimeout(() => this.#put(item), 50)
  }

  work(run: (item: TakenItem) => Promise<Settlement>, options: InboxWorkOptions): InboxLoop {
    const table = {
      take: async (request: TakeRequest) => {
        await new Promise(setImmediate) // a fault may return items without end
        return this.#take(request)
      },
      renew: async (name: string, leaseMs: number) => {
        if (this.#has('never renews its leases')) return
        this.#revive(name)
        const isEverybody = this.#has('renews what dead workers held')
        for (const row of isEverybody ? this.#running() : this.#heldBy(name))
          if (!this.#isTakenAway(row)) this.#set(row.key, { leasedUntil: Date.now() + leaseMs })
      },
      settle: async (item: InboxEntry, name: string, settlement: Settlement) => {
        const isGivenBack = settlement.next === 'wait' && settlement.tried === undefined && settlement.afterMs === 0
        if (isGivenBack && this.#has('keeps what outlasts its closing')) return true
        return this.#settle(item, name, settlement)
      },
      onPut: (callback: () => void) => {
        this.#listeners.add(callback)
        return () => this.#listeners.delete(callback)
      },
    }
    const unnamed = this.#has('names all workers alike') ? 'worker' : `worker ${crypto.randomUUID()}`
    const worker = this.#has('has workers without a name') ? '' : unnamed
    const more = this.#has('runs more at once than it is told') ? 1 : 0
    const concurrency = this.#has('runs one at a time') ? 1 : options.concurrency + more
    const never = new AbortController().signal
    const closed = new AbortController()
    const given = (item: TakenItem) => {
      if (this.#has('never aborts')) return run({ ...item, signal: never })
      return run(this.#has('aborts at once when it closes') ? { ...item, signal: closed.signal } : item)
    }
    const onSettled: typeof options.onSettled = (...settled) => {
      if (!this.#has('never tells what it settled')) options.onSettled(...settled)
      if (this.#has('tells twice what it settled')) options.onSettled(...settled)
    }
    const { max, onIdle, onStalled, ...rest } = options
    const loop = pollInbox(table, worker, given, {
      ...{ ...rest, onSettled, concurrency },
      ...(max !== undefined && !this.#has('runs more in all than it is told') && { max }),
      ...(onIdle && !this.#has('never says that it is idle') && { onIdle }),
      ...(onStalled && !this.#has('never tells of what it lost') && { onStalled }),
    })
    if (this.#has('says that it is idle while it runs items')) setInterval(() => onIdle?.(), 50).unref()
    const close = (timeoutMs: number) => {
      closed.abort()
      const closing = this.#has('takes more while it closes')
        ? later(() => loop.close(timeoutMs))
        : loop.close(timeoutMs)
      if (this.#has('never aborts')) return Promise.race([closing, later(async () => 1)])
      if (this.#has('says that nothing runs when it closes')) return closing.then(() => 0)
      return this.#has('closes while items run') ? Promise.resolve(0) : closing
    }
    return { close }
  }

  async counts(): Promise<InboxCounts> {
    const count = (state: InboxState) => [...this.#rows.values()].filter((row) => row.state === state).length
    const dueAt = [...this.#rows.values()].filter((row) => row.state === 'waiting').map((row) => row.dueAt)
    const isLaterDue = this.#has('counts as due what is due later')
    const oldest = dueAt.filter((at) => isLaterDue || at <= Date.now()).sort((a, b) => a - b)[0]
    const running = count('running')
    const isWrong = this.#has('counts what runs as waiting')
    return {
      waiting: count('waiting') + (isWrong ? running : 0),
      running: isWrong ? 0 : running,
      dead: count('dead'),
      oldestDueAt: this.#has('knows no oldest item') ? undefined : oldest,
    }
  }

  async list(state: InboxState, { after, limit = 100 }: ListOptions = {}): Promise<InboxPage> {
    const onlyDue = this.#has('lists only what is due')
    const all = [...this.#rows.values()].filter(
      (row) =>
        (row.state === state || (row.state === 'running' && this.#has('lists what runs as waiting'))) &&
        !(onlyDue && row.dueAt > Date.now() && state === 'waiting'),
    )
    if (this.#has('lists all on one page')) return { entries: all, next: undefined }
    const from = Number(after ?? 0) + (after !== undefined && this.#has('skips an item between pages') ? 1 : 0)
    const to = from + limit
    const next = this.#has('lists the first page again and again') && after !== undefined ? undefined : String(to)
    const start = this.#has('lists the first page again and again') ? 0 : from
    return { entries: all.slice(start, start + limit), next: all.length > to ? next : undefined }
  }

  async get(key: string): Promise<InboxEntry | undefined> {
    return this.#rows.get(this.#toKey(key))
  }

  async replay(key: string): Promise<boolean> {
    if (this.#has('replays in two steps')) {
      const isDead = this.#rows.get(this.#toKey(key))?.state === 'dead'
      await new Promise((resolve) => setTimeout(resolve, 5))
      if (isDead) this.#replay(this.#toKey(key))
      return isDead
    }
    const isReplayed = this.#replay(this.#toKey(key))
    return isReplayed && !this.#has('never says that it replayed')
  }

  async drop(key: string): Promise<boolean> {
    const state = this.#rows.get(this.#toKey(key))?.state
    if (state === undefined) return this.#has('says that it dropped what is not there')
    if (state === 'running' && !this.#has('drops what runs')) return false
    if (state === 'dead' && this.#has('drops no dead letter')) return true
    if (this.#has('remembers what was dropped')) this.#dropped.add(this.#toKey(key))
    return this.#rows.delete(this.#toKey(key))
  }

  // ── Steps ────────────────────────────────────────────────────────────────────────────────────────────────────────

  #has(fault: Fault): boolean {
    return this.#fault === fault
  }

  #toKey(key: string): string {
    if (this.#has('ignores case')) return key.toLowerCase()
    if (this.#has('cuts keys off')) return key.slice(0, 255)
    return this.#has('trims keys') ? key.trim() : key
  }

  #put(item: InboxItem): void {
    const key = this.#toKey(item.key)
    const known = this.#rows.get(key)
    if ((this.#has('remembers what is done') && this.#done.has(key)) || this.#dropped.has(key)) return
    if (known?.state === 'dead' && !this.#has('leaves a dead letter dead that comes in again')) {
      this.#replay(key)
      return
    }
    if (known?.state === 'waiting') this.#meet(known)
    if (known !== undefined && this.#has('makes two items of a duplicate')) this.#insert(`${key} again`, item)
    else if (known !== undefined && this.#has('replaces an item that comes again'))
      this.#set(key, { bytes: item.bytes })
    else if (known === undefined) this.#insert(key, item)
  }

  /** Changes a waiting item that comes in again, by a fault. */
  #meet({ key, accountKey }: Row): void {
    if (this.#has('resets the tries of an item that comes again')) this.#set(key, { tries: [], failures: 0 })
    if (this.#has('ends the delay of an item that comes again')) this.#set(key, { dueAt: Date.now() })
    if (this.#has('puts an item that comes again behind the others'))
      this.#set(key, { turn: this.#nextTurn(accountKey) })
  }

  #insert(key: string, { trace, source, bytes, ...item }: InboxItem): void {
    const kept = this.#has('cuts long bodies off') ? bytes.slice(0, 65_535) : bytes
    const now = Date.now()
    this.#rows.set(key, {
      ...item,
      key,
      ...(this.#has('dates an item by its own clock') && { receivedAt: Date.now() }),
      bytes: this.#has('keeps the body as text') ? asText(bytes) : kept,
      ...(trace && !this.#has('loses the trace') && { trace }),
      ...(trace &&
        this.#has('has null for a missing state of a trace') && { trace: { tracestate: null as never, ...trace } }),
      ...(source !== undefined && !this.#has('loses the source') && { source }),
      ...(source === undefined && this.#has('has null for what an item lacks') && { source: null as never }),
      ...{ state: 'waiting', dueAt: now, since: now, failures: 0, deaths: 0, marks: [], tries: [] },
      ...{ worker: '', takenAt: 0, leasedUntil: 0, ranMs: 0, losses: 0, isAlone: false, lostBy: '', wasAlone: false },
      turn: this.#nextTurn(item.accountKey),
    })
    this.#wake()
  }

  /** After the account's own last item, and not before the next turn. */
  #nextTurn(account: string): number {
    const rows = [...this.#rows.values()].filter(({ state }) => state === 'waiting')
    const next = Math.min(...rows.map(({ turn }) => turn))
    const own = Math.max(...rows.filter(({ accountKey }) => accountKey === account).map(({ turn }) => turn), 0)
    if (this.#has('runs the backlog of an account first')) return Math.max(...rows.map(({ turn }) => turn), 0) + 1
    return Math.max(own, Number.isFinite(next) ? next : 0) + 1
  }

  #take({ worker, limit, leaseMs, suspects }: TakeRequest): Taken {
    const now = Date.now()
    this.#revive(worker)
    if (suspects === 'join') for (const { key } of this.#heldBy(worker)) this.#set(key, { isAlone: false })
    if (suspects === 'join' && this.#has('never lets others join')) return { items: [] }
    if (!this.#has('never ends a lease')) this.#endLeases(worker, leaseMs)
    const enough = this.#has('suspects nothing') ? 99 : this.#has('suspects what one worker died at') ? 1 : 2
    const isDue = ({ state, dueAt, failures, worker: last }: Row) => {
      const isOfOther = failures > 0 && last !== worker && this.#has('leaves a retry to the worker that failed')
      return (
        (state === 'waiting' && dueAt <= now && !isOfOther) ||
        (state === 'dead' && this.#has('runs dead letters')) ||
        (state === 'running' && this.#has('gives one item to several workers'))
      )
    }
    const due = [...this.#rows.values()].filter(isDue).sort((a, b) => a.turn - b.turn)
    const suspect = due.find(({ losses }) => losses >= enough)
    if (suspect !== undefined && suspects === 'await') return { items: [], isAwaited: true }
    const items =
      suspect && suspects === 'take' ? [suspect] : due.filter(({ losses }) => losses < enough).slice(0, limit)
    const isAlone = items.includes(suspect as Row) // may be none
    const taken = { state: 'running', worker, takenAt: now, leasedUntil: now + leaseMs, isAlone } as const
    for (const { key } of items) this.#set(key, taken)
    const ranMs = this.#has('lets others join at once') ? -LONG_MS : suspect?.ranMs
    return { items: items.map((row) => this.#hand(row)), ...(isAlone && ranMs !== undefined && { ranMs }) }
  }

  #endLeases(asks: string, leaseMs: number): void {
    const isLost = ({ state, worker, leasedUntil }: Row) =>
      state === 'running' && worker !== asks && leasedUntil < Date.now()
    for (const { key, worker, takenAt, leasedUntil, losses, deaths, isAlone } of [...this.#rows.values()].filter(
      isLost,
    )) {
      const isCounted = (isAlone || this.#has('counts every death')) && !this.#has('counts no death')
      const counts = {
        losses: losses + 1,
        deaths: deaths + (isCounted ? 1 : 0),
        ranMs: leasedUntil - leaseMs - takenAt,
      }
      this.#set(key, { state: 'waiting', worker: '', lostBy: worker, wasAlone: isCounted, isAlone: false, ...counts })
    }
  }

  /** A worker that asks is alive: it holds what nobody took, and caused no loss. */
  #revive(name: string): void {
    if (this.#has('takes an item from a suspended worker')) return
    for (const { key, state, lostBy, losses, deaths, wasAlone } of this.#rows.values()) {
      if (lostBy !== name) continue
      this.#set(key, { lostBy: '' })
      if (this.#has('counts a suspended worker as dead')) continue
      this.#set(key, { losses: losses - 1, deaths: deaths - (wasAlone ? 1 : 0) })
      if (state === 'waiting')
        this.#set(key, { state: 'running', worker: name, isAlone: wasAlone, leasedUntil: Date.now() })
    }
  }

  #running(): readonly Row[] {
    return [...this.#rows.values()].filter(({ state }) => state === 'running')
  }

  #heldBy(name: string): readonly Row[] {
    return [...this.#rows.values()].filter(({ state, worker }) => state === 'running' && worker === name)
  }

  /** Returns a row as a worker gets it. */
  #hand({ trace, ...row }: Row): InboxEntry {
    const bytes = this.#has('gives workers the body as text') ? asText(row.bytes) : row.bytes
    return { ...row, bytes, ...(trace && !this.#has('gives workers no trace') && { trace }) }
  }

  #settle({ key, tries }: InboxEntry, worker: string, settlement: Settlement): boolean {
    this.#revive(worker)
    const row = this.#rows.get(key)
    if (row === undefined || this.#isTakenAway(row)) return false
    if ((row.state !== 'running' || row.worker !== worker) && !this.#lets(settlement)) return false
    this.#change(row, tries, settlement)
    return true
  }

  #lets({ next }: Settlement): boolean {
    return this.#has('lets anybody settle') || (next === 'bury' && this.#has('lets anybody bury'))
  }

  #isTakenAway({ leasedUntil }: Row): boolean {
    return this.#has('takes an item from a suspended worker') && leasedUntil < Date.now()
  }

  #change(row: Row, tries: InboxEntry['tries'], settlement: Settlement): void {
    const { key } = row
    const isRemoved =
      settlement.next === 'remove' ||
      (settlement.next === 'wait' && this.#has('removes what is to wait')) ||
      (settlement.next === 'bury' && this.#has('removes what is to be buried'))
    if (isRemoved) {
      if (this.#has('never removes')) return
      this.#rows.delete(key)
      this.#done.add(key)
      return
    }
    const now = Date.now()
    const hasTried = settlement.tried !== undefined || this.#has('keeps a try that did not begin')
    const all = hasTried ? [...tries, settlement.tried as InboxTry] : tries
    this.#set(key, { lostBy: '' })
    if (settlement.next === 'bury') {
      const marks = settlement.marks.slice(0, this.#has('buries with two marks at most') ? 2 : Infinity)
      this.#set(key, {
        state: 'dead',
        dueAt: this.#has('dates a dead letter by its receipt') ? row.receivedAt : now,
        marks,
        tries: this.#has('buries without the try') ? tries : this.#cut(all),
      })
      return
    }
    if (settlement.next !== 'wait') return
    if (settlement.tried?.code === 'worker_closed' && this.#has('keeps what it gives back')) return
    const isCounted = (settlement.isFailure || this.#has('counts every try')) && !this.#has('counts no try')
    const isHasty = this.#has(
      row.failures === 0 ? 'tries again at once the first time' : 'tries again at once from the second time on',
    )
    const isLong = settlement.afterMs >= 2 ** 31 && this.#has('ends a long delay immediately')
    const from = this.#has('counts a delay from when the item was due') ? row.dueAt : now
    const dueAt = from + (isHasty || isLong ? 0 : settlement.afterMs)
    const isUnproven = settlement.isUnproven === true || settlement.tried === undefined
    const isForgiven = this.#has('forgives a death for nothing') || !isUnproven
    if (isForgiven && !this.#has('never forgives a death')) this.#set(key, { losses: 0, deaths: 0 })
    this.#set(key, {
      ...{ state: 'waiting', dueAt, tries: this.#cut(all), failures: row.failures + (isCounted ? 1 : 0) },
      turn: this.#nextTurn(row.accountKey),
    })
  }

  #cut(tries: InboxEntry['tries']): InboxEntry['tries'] {
    if (this.#has('keeps every try')) return tries
    if (this.#has('forgets the times of tries'))
      return tries.map((each) => ({ ...each, dueAt: 0, startedAt: 0, endedAt: 0 })).slice(-TRIES_KEPT)
    if (this.#has('keeps the last try only')) return tries.slice(-1)
    return this.#has('keeps the first tries') ? tries.slice(0, TRIES_KEPT) : tries.slice(-TRIES_KEPT)
  }

  #replay(key: string): boolean {
    const row = this.#rows.get(key)
    if (row === undefined) return false
    const isDead =
      row.state === 'dead' ||
      (row.state === 'running' && this.#has('replays what runs')) ||
      this.#has('replays anything') ||
      this.#has('replays in two steps')
    if (!isDead) return false
    const now = Date.now()
    const since = this.#has('replays without the time of the replay') ? 0 : now
    this.#set(key, {
      ...{ state: 'waiting', dueAt: now, since },
      ...(this.#has('replays with the deaths of before') ? {} : { losses: 0, deaths: 0 }),
      failures: this.#has('replays with the failures of before') ? row.failures : 0,
      marks: this.#has('replays without marks') ? [] : row.marks,
      tries: this.#has('replays without the tries of before') ? [] : row.tries,
    })
    this.#wake()
    return true
  }

  #set(key: string, changes: Partial<Row>): void {
    const row = this.#rows.get(key)
    if (row !== undefined) this.#rows.set(key, { ...row, ...changes })
  }

  #wake(): void {
    for (const listener of this.#listeners) listener()
  }
}

async function later<T>(work: () => Promise<T>): Promise<T> {
  await new Promise((resolve) => setTimeout(resolve, 400))
  return work()
}

function asText(bytes: Uint8Array): Uint8Array {
  return new TextEncoder().encode(new TextDecoder().decode(bytes))
}

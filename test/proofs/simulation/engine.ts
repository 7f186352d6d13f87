import type { Claim, Position, TransactionClaim } from 'postern'

interface Entry {
  doneUntil: number
  readonly marks: Set<string>
  marksUntil: number
  /** The token that holds the key until `endsAt`. */
  holder: string
  endsAt: number
  /** The token that claimed last, even if it no longer holds the key. */
  lastClaim: string
}

/** The outcome of a transaction: it was committed, or the code of the reason why not. */
export type Commit = 'committed' | 'lease_lost' | 'event_outdated'

/**
 * The contract of a store in its plainest form: claims are leases on the engine's own clock, marks and done keys are kept for the
 * retention, every method is one atomic step. It survives the processes that use it. The callers make the tokens, so that a call that is
 * carried out twice is recognized by its token.
 */
export class Engine {
  readonly retentionMs: number
  readonly #now: () => number
  readonly #entries = new Map<string, Entry>()
  readonly #positions = new Map<string, { readonly at: number; readonly until: number }>()
  /** The undoing of each change, the oldest first. */
  readonly #changes: { readonly at: number; readonly undo: () => void }[] = []

  constructor(now: () => number, retentionMs: number) {
    this.#now = now
    this.retentionMs = retentionMs
  }

  claim(key: string, token: string, leaseMs: number, positionKeys?: readonly string[]): Claim {
    const entry = this.#find(key)
    if (this.#isHeldByAnother(entry, token)) return { state: 'busy' }
    if (this.#isDone(entry)) return { state: 'done' }
    entry.lastClaim = token
    this.#hold(entry, token, leaseMs)
    const claim = { state: 'claimed', token, marks: [...entry.marks] } as const
    return positionKeys ? { ...claim, positions: positionKeys.map((one) => this.#position(one)) } : claim
  }

  renew(
    key: string,
    token: string,
    leaseMs: number,
    marks: readonly string[],
    positions?: readonly Position[],
  ): boolean {
    this.#keepPositions(positions)
    const entry = this.#find(key)
    if (this.#isHeldByAnother(entry, token) || this.#isDone(entry)) return false
    this.#hold(entry, token, leaseMs)
    this.#keep(entry, marks)
    return true
  }

  complete(key: string, token: string, positions?: readonly Position[]): boolean {
    this.#keepPositions(positions)
    const entry = this.#find(key)
    if (this.#isHeldByAnother(entry, token)) return false
    entry.endsAt = Number.NEGATIVE_INFINITY
    entry.doneUntil = this.#now() + this.retentionMs
    return true
  }

  release(key: string, token: string, marks: readonly string[], positions?: readonly Position[]): boolean {
    this.#keepPositions(positions)
    const entry = this.#find(key)
    if (this.#isHeldByAnother(entry, token)) return false
    entry.endsAt = Number.NEGATIVE_INFINITY
    this.#keep(entry, marks)
    return true
  }

  /** Commits the rows of `write`, which returns how they are undone, with mark and position. Or returns why not, and commits nothing. */
  commit({ key, token, mark, position }: Omit<TransactionClaim, 'signal'>, write: () => () => void): Commit {
    const entry = this.#find(key)
    if (entry.lastClaim !== token) return 'lease_lost'
    if (this.#isDone(entry) || entry.marks.has(mark)) return 'lease_lost'
    if (position !== undefined && this.#isPassed(position)) return 'event_outdated'
    this.#note(write())
    this.#keep(entry, [mark])
    if (position !== undefined) this.#keepPositions([position])
    return 'committed'
  }

  /** Loses all changes after a time. */
  rewind(since: number): void {
    while ((this.#changes.at(-1)?.at ?? since) > since) this.#changes.pop()?.undo()
  }

  /** Drops keys of events and of positions. */
  evict(isMeant: (key: string) => boolean): void {
    this.#drop(this.#entries, isMeant)
    this.#drop(this.#positions, isMeant)
  }

  #drop<T>(all: Map<string, T>, isMeant: (key: string) => boolean): void {
    for (const [key, value] of [...all].filter(([each]) => isMeant(each))) {
      this.#note(() => all.set(key, value))
      all.delete(key)
    }
  }

  #note(undo: () => void): void {
    this.#changes.push({ at: this.#now(), undo })
  }

  #keepPositions(positions: readonly Position[] = []): void {
    for (const position of positions) {
      const { key, at } = position
      if (this.#isPassed(position)) continue
      const before = this.#positions.get(key)
      this.#note(() => (before === undefined ? this.#positions.delete(key) : this.#positions.set(key, before)))
      this.#positions.set(key, { at, until: this.#now() + this.retentionMs })
    }
  }

  #position(key: string): number | undefined {
    const known = this.#positions.get(key)
    return known !== undefined && known.until >= this.#now() ? known.at : undefined
  }

  #isPassed({ key, at }: Position): boolean {
    return (this.#position(key) ?? Number.NEGATIVE_INFINITY) > at
  }

  #find(key: string): Entry {
    const known = this.#entries.get(key)
    if (known !== undefined) {
      if (known.marksUntil < this.#now()) known.marks.clear()
      const before = { ...known, marks: new Set(known.marks) }
      this.#note(() => this.#entries.set(key, before))
      return known
    }
    const never = Number.NEGATIVE_INFINITY
    const entry: Entry = {
      doneUntil: never,
      marks: new Set(),
      marksUntil: never,
      holder: '',
      endsAt: never,
      lastClaim: '',
    }
    this.#note(() => this.#entries.delete(key))
    this.#entries.set(key, entry)
    return entry
  }

  #isHeldByAnother({ holder, endsAt }: Entry, token: string): boolean {
    return endsAt > this.#now() && holder !== token
  }

  #isDone({ doneUntil }: Entry): boolean {
    return doneUntil >= this.#now()
  }

  #hold(entry: Entry, token: string, leaseMs: number): void {
    entry.holder = token
    entry.endsAt = this.#now() + leaseMs
  }

  #keep(entry: Entry, marks: readonly string[]): void {
    for (const mark of marks) entry.marks.add(mark)
    if (entry.marks.size > 0) entry.marksUntil = this.#now() + this.retentionMs
  }
}

/** The machine of the engine: it may be frozen, down or refuse calls for a while. The engine's data survives. */
export class EngineHost {
  readonly engine: Engine
  frozenUntil = 0
  downUntil = 0
  refusesUntil = 0
  /** The number of restarts: a connection lasts until the next one only. */
  starts = 0

  constructor(engine: Engine) {
    this.engine = engine
  }
}

import type { Claim } from 'postern'

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

/**
 * The contract of a store in its plainest form: claims are leases on the engine's own clock, marks and done keys are kept for the
 * retention, every method is one atomic step. It survives the processes that use it. Tokens are made by the callers, so that a call
 * that is carried out twice is known by its token.
 */
export class Engine {
  readonly retentionMs: number
  readonly #now: () => number
  readonly #entries = new Map<string, Entry>()

  constructor(now: () => number, retentionMs: number) {
    this.#now = now
    this.retentionMs = retentionMs
  }

  claim(key: string, token: string, leaseMs: number): Claim {
    const entry = this.#find(key)
    if (this.#isHeldByAnother(entry, token)) return { state: 'busy' }
    if (this.#isDone(entry)) return { state: 'done' }
    entry.lastClaim = token
    this.#hold(entry, token, leaseMs)
    return { state: 'claimed', token, marks: [...entry.marks] }
  }

  renew(key: string, token: string, leaseMs: number, marks: readonly string[]): boolean {
    const entry = this.#find(key)
    if (this.#isHeldByAnother(entry, token) || this.#isDone(entry)) return false
    this.#hold(entry, token, leaseMs)
    this.#keep(entry, marks)
    return true
  }

  complete(key: string, token: string): boolean {
    const entry = this.#find(key)
    if (this.#isHeldByAnother(entry, token)) return false
    entry.endsAt = Number.NEGATIVE_INFINITY
    entry.doneUntil = this.#now() + this.retentionMs
    return true
  }

  release(key: string, token: string, marks: readonly string[]): boolean {
    const entry = this.#find(key)
    if (this.#isHeldByAnother(entry, token)) return false
    entry.endsAt = Number.NEGATIVE_INFINITY
    this.#keep(entry, marks)
    return true
  }

  /** Commits what `write` writes together with the mark, or returns false and does neither. */
  commit(key: string, token: string, mark: string, write: () => void): boolean {
    const entry = this.#find(key)
    if (entry.lastClaim !== token) return false
    if (this.#isDone(entry) || entry.marks.has(mark)) return false
    write()
    this.#keep(entry, [mark])
    return true
  }

  #find(key: string): Entry {
    const known = this.#entries.get(key)
    if (known !== undefined) {
      if (known.marksUntil < this.#now()) known.marks.clear()
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

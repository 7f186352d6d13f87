import { deepStrictEqual } from 'node:assert/strict'
import type { Store } from '../../../src/store/store.ts'
import { STRANGER } from './trial.ts'

/** Call of one of two processes, with the last token or the one before; or the passage of time. */
export interface Move {
  readonly call: 'claim' | 'renew' | 'complete' | 'release' | 'pass'
  readonly process: 0 | 1
  readonly holder: 0 | 1
}

interface ComparedStores {
  readonly stores: readonly [Store, Store]
  readonly key: string
  /** Duration of each step in milliseconds. */
  readonly unitMs: number
  /** All tokens so far, of all keys. */
  readonly tokens: Set<string>
}

/** Units of a lease that does not end within a sequence. */
const FOR_EVER = 1_000

/** Compares the answers to a sequence of moves with those of the contract in its simplest form, without bound and retention. */
export class Comparison {
  readonly #compared: ComparedStores
  readonly #moves: readonly Move[]
  readonly #tokens: string[] = []
  readonly #marks = new Set<string>()
  #isDone = false
  #token: string | undefined
  #endsAt = 0
  #latest: number | undefined

  constructor(compared: ComparedStores, moves: readonly Move[]) {
    this.#compared = compared
    this.#moves = moves
  }

  /** Takes the nth step. Throws if the answer is wrong. */
  async take(index: number): Promise<void> {
    const { call, process, holder } = this.#moves[index] ?? { call: 'pass' }
    if (call === 'pass') return
    const { stores, key, unitMs } = this.#compared
    const store = stores[process]
    const holding = this.#endsAt > index ? this.#token : undefined
    if (call === 'claim') return this.#claim(index, store, holding)
    const token = this.#tokens.at(-1 - holder) ?? STRANGER
    const isTaken = (holding ?? token) === token && !(call === 'renew' && this.#isDone)
    const marks = [call, `${call} ${index}`]
    const brought = this.#bring(index, store)
    const answer = await {
      renew: () => store.renew(key, token, this.#leaseAt(index, isTaken) * unitMs, marks, brought),
      complete: () => store.complete(key, token, brought),
      release: () => store.release(key, token, marks, brought),
    }[call]()
    this.#compare(index, answer, isTaken)
    if (!isTaken) return
    if (call === 'complete') this.#isDone = true
    else for (const mark of marks) this.#marks.add(mark)
    this.#hold(index, call === 'renew' ? token : undefined)
  }

  async #claim(index: number, store: Store, holding: string | undefined): Promise<void> {
    const { key, unitMs, tokens } = this.#compared
    const state = holding !== undefined ? 'busy' : this.#isDone ? 'done' : 'claimed'
    const leaseMs = this.#leaseAt(index, state === 'claimed') * unitMs
    const claim = await store.claim(key, leaseMs, store.keepsPositions === true ? this.#places : undefined)
    this.#compare(index, claim.state, state)
    if (claim.state !== 'claimed') return
    const { marks, token, positions } = claim
    this.#compare(index, [...marks].sort(), [...this.#marks].sort())
    if (store.keepsPositions === true) this.#compare(index, positions, [this.#latest, this.#latest])
    const isNew = typeof token === 'string' && token !== '' && !tokens.has(token)
    this.#compare(index, isNew ? 'a new token' : token, 'a new token')
    tokens.add(token)
    this.#tokens.push(token)
    this.#hold(index, token)
  }

  #hold(index: number, token: string | undefined): void {
    this.#token = token
    this.#endsAt = index + this.#leaseAt(index, true)
  }

  /** A lease ends in the next unit in which nothing is called. One that is refused would be longer than that of the holder. */
  #leaseAt(index: number, isTaken: boolean): number {
    const end = this.#moves.findIndex(({ call }, later) => later > index && call === 'pass')
    return end === -1 || !isTaken ? FOR_EVER : end - index + 0.5
  }

  /** Returns the positions that a call brings, for stores that keep positions. */
  #bring(index: number, store: Store) {
    if (store.keepsPositions !== true || index % 3 === 0) return undefined
    const at = (index * 7) % 10
    this.#latest = Math.max(this.#latest ?? at, at)
    return this.#places.map((key) => ({ key, at }))
  }

  get #places(): readonly string[] {
    return [`${this.#compared.key}@a`, `${this.#compared.key}@b`]
  }

  #compare(index: number, answer: unknown, expected: unknown): void {
    if (answer === expected) return // nearly always: a message for each of a million answers takes long
    deepStrictEqual(answer, expected, `step ${index} of ${JSON.stringify(this.#moves)}`)
  }
}

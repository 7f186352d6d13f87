import { deepStrictEqual } from 'node:assert/strict'
import type { Position, Store } from '../../../src/store/store.ts'

/** Call, or passage of time. `holder` chooses among all tokens returned so far, so that stale ones are tried too. Times are in units. */
export type Step =
  | { readonly call: 'claim'; readonly key: number; readonly lease: number }
  | {
      readonly call: 'renew'
      readonly key: number
      readonly holder: number
      readonly lease: number
      readonly marks: readonly string[]
    }
  | { readonly call: 'complete'; readonly key: number; readonly holder: number }
  | { readonly call: 'release'; readonly key: number; readonly holder: number; readonly marks: readonly string[] }
  | { readonly call: 'pass'; readonly time: number }

interface ModelSubject {
  readonly storeOf: (step: number) => Store
  readonly keys: readonly string[]
  /** Unit of leases and passages of time, in milliseconds. */
  readonly unitMs: number
}

export class Comparison {
  readonly #subject: ModelSubject
  readonly #steps: readonly Step[]
  readonly #model = new StoreModel()
  readonly #tokens = new Map<string, string[]>()
  #latest: number | undefined

  constructor(subject: ModelSubject, steps: readonly Step[]) {
    this.#subject = subject
    this.#steps = steps
  }

  pass(time: number): void {
    this.#model.now += time
  }

  /** Takes the nth step, unless it is a passage of time. Throws if the answer differs from the model's. */
  async take(index: number): Promise<void> {
    const step = this.#steps[index]
    if (step === undefined || step.call === 'pass') return
    const { storeOf, keys, unitMs } = this.#subject
    const model = this.#model
    const store = storeOf(index)
    const key = keys[step.key] ?? ''
    if (step.call === 'claim') return this.#claim(index, store, key, step.lease)
    const token = this.#tokens.get(key)?.at(-1 - step.holder) ?? 'a-token-of-nobody'
    const brought = this.#bring(index, store)
    if (step.call === 'renew') {
      const answer = await store.renew(key, token, step.lease * unitMs, step.marks, ...brought)
      this.#compare(index, answer, model.renew(key, token, step.lease, step.marks))
    } else if (step.call === 'complete')
      this.#compare(index, await store.complete(key, token, ...brought), model.complete(key, token))
    else {
      const answer = await store.release(key, token, step.marks, ...brought)
      this.#compare(index, answer, model.release(key, token, step.marks))
    }
  }

  async #claim(index: number, store: Store, key: string, lease: number): Promise<void> {
    const asked: [string[]?] = store.keepsPositions === true ? [[this.#place]] : []
    const claim = await store.claim(key, lease * this.#subject.unitMs, ...asked)
    const expected = this.#model.claim(key)
    this.#compare(index, claim.state, expected.state)
    if (claim.state !== 'claimed' || expected.state !== 'claimed') return
    this.#compare(index, [...claim.marks].sort(), [...expected.marks].sort())
    if (asked.length > 0) this.#compare(index, claim.positions, [this.#latest])
    this.#model.hold(key, claim.token, lease)
    this.#tokens.set(key, [...(this.#tokens.get(key) ?? []), claim.token])
  }

  /** Returns the position that a call brings, for stores that keep positions. */
  #bring(index: number, store: Store): [Position[]?] {
    if (store.keepsPositions !== true || index % 3 === 0) return []
    const at = (index * 7) % 10
    this.#latest = Math.max(this.#latest ?? at, at)
    return [[{ key: this.#place, at }]]
  }

  get #place(): string {
    return `${this.#subject.keys[0]}@`
  }

  #compare(index: number, answer: unknown, expected: unknown): void {
    if (answer === expected) return // nearly always: a message for each of a million answers takes long
    deepStrictEqual(answer, expected, `step ${index} of ${JSON.stringify(this.#steps)}`)
  }
}

interface Entry {
  isDone: boolean
  marks: Set<string>
  token: string | undefined
  endsAt: number
}

/** Simplest form of the contract: no bound, no retention, everything in one map. */
class StoreModel {
  now = 0
  readonly #entries = new Map<string, Entry>()

  claim(
    key: string,
  ): { readonly state: 'busy' | 'done' } | { readonly state: 'claimed'; readonly marks: ReadonlySet<string> } {
    const entry = this.#entry(key)
    if (this.#holder(entry) !== undefined) return { state: 'busy' }
    return entry.isDone ? { state: 'done' } : { state: 'claimed', marks: entry.marks }
  }

  hold(key: string, token: string, lease: number): void {
    Object.assign(this.#entry(key), { token, endsAt: this.now + lease })
  }

  renew(key: string, token: string, lease: number, marks: readonly string[]): boolean {
    const entry = this.#entry(key)
    if (this.#isFenced(entry, token) || entry.isDone) return false
    this.hold(key, token, lease)
    for (const mark of marks) entry.marks.add(mark)
    return true
  }

  complete(key: string, token: string): boolean {
    const entry = this.#entry(key)
    if (this.#isFenced(entry, token)) return false
    Object.assign(entry, { isDone: true, token: undefined })
    return true
  }

  release(key: string, token: string, marks: readonly string[]): boolean {
    const entry = this.#entry(key)
    if (this.#isFenced(entry, token)) return false
    entry.token = undefined
    for (const mark of marks) entry.marks.add(mark)
    return true
  }

  #holder({ token, endsAt }: Entry): string | undefined {
    return endsAt > this.now ? token : undefined
  }

  #isFenced(entry: Entry, token: string): boolean {
    const holder = this.#holder(entry)
    return holder !== undefined && holder !== token
  }

  #entry(key: string): Entry {
    const entry = this.#entries.get(key) ?? { isDone: false, marks: new Set<string>(), token: undefined, endsAt: 0 }
    this.#entries.set(key, entry)
    return entry
  }
}

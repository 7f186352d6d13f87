import { deepStrictEqual, strictEqual } from 'node:assert/strict'
import type { Position, Store } from '../../store/store.ts'

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

/** Store under test, with the meaning of the steps. */
export interface ModelSubject {
  /** Returns the store that takes the nth step. */
  readonly storeOf: (step: number) => Store
  readonly keys: readonly string[]
  /** Unit of leases and passages of time, in milliseconds. */
  readonly unitMs: number
  readonly pass: (ms: number) => void | Promise<void>
}

/** Takes the steps on a store and on the model, and throws at the first answer that differs. */
export async function compareWithModel(subject: ModelSubject, steps: readonly Step[]): Promise<void> {
  const { storeOf, unitMs, pass } = subject
  const model = new StoreModel()
  const tokens = new Map<string, string[]>()
  const place = `${subject.keys[0]}@`
  let latest: number | undefined
  const tokenOf = (key: string, holder: number) => tokens.get(key)?.at(-1 - holder) ?? 'a-token-of-nobody'
  for (const [index, step] of steps.entries()) {
    const said = `step ${index} of ${JSON.stringify(steps)}`
    if (step.call === 'pass') {
      await pass(step.time * unitMs)
      model.now += step.time
      continue
    }
    const store = storeOf(index)
    const key = subject.keys[step.key] ?? ''
    const asked: [string[]?] = store.keepsPositions === true ? [[place]] : []
    const brought: [Position[]?] = []
    if (store.keepsPositions === true && step.call !== 'claim' && index % 3 > 0) {
      const at = (index * 7) % 10
      brought.push([{ key: place, at }])
      latest = Math.max(latest ?? at, at)
    }
    switch (step.call) {
      case 'claim': {
        const claim = await store.claim(key, step.lease * unitMs, ...asked)
        const expected = model.claim(key)
        strictEqual(claim.state, expected.state, said)
        if (claim.state !== 'claimed' || expected.state !== 'claimed') break
        deepStrictEqual([...claim.marks].sort(), [...expected.marks].sort(), said)
        if (asked.length > 0) deepStrictEqual(claim.positions, [latest], said)
        model.hold(key, claim.token, step.lease)
        tokens.set(key, [...(tokens.get(key) ?? []), claim.token])
        break
      }
      case 'renew': {
        const token = tokenOf(key, step.holder)
        const answer = await store.renew(key, token, step.lease * unitMs, step.marks, ...brought)
        strictEqual(answer, model.renew(key, token, step.lease, step.marks), said)
        break
      }
      case 'complete': {
        const token = tokenOf(key, step.holder)
        strictEqual(await store.complete(key, token, ...brought), model.complete(key, token), said)
        break
      }
      case 'release': {
        const token = tokenOf(key, step.holder)
        const answer = await store.release(key, token, step.marks, ...brought)
        strictEqual(answer, model.release(key, token, step.marks), said)
      }
    }
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

import { deepStrictEqual, strictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import type { StoreSubject } from './store-cases.ts'

/** One call, or a passage of time. `holder` chooses among the tokens given out so far, so that stale ones are tried too. */
export type Step =
  | { readonly call: 'claim'; readonly key: string; readonly leaseMs: number }
  | {
      readonly call: 'renew'
      readonly key: string
      readonly holder: number
      readonly leaseMs: number
      readonly marks: readonly string[]
    }
  | { readonly call: 'complete'; readonly key: string; readonly holder: number }
  | { readonly call: 'release'; readonly key: string; readonly holder: number; readonly marks: readonly string[] }
  | { readonly call: 'pass'; readonly ms: number }

/**
 * Sequences of calls on two keys, among them repeated and late ones.
 *
 * @param unitMs what the leases and passages are multiples of: engines on a real clock need one that dwarfs their own time
 */
export function steps(unitMs: number): fc.Arbitrary<readonly Step[]> {
  const key = fc.constantFrom('key-a', 'key-b')
  const leaseMs = fc.constantFrom(2, 4, 8).map((units) => units * unitMs)
  // Mostly whoever claimed last; sometimes one before, or nobody.
  const holder = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat({ max: 5 }) })
  const marks = fc.uniqueArray(fc.constantFrom('h1', 'h2', 'h3'), { maxLength: 3 })
  // Odd passages against even leases: no lease ends just when it is looked at.
  const ms = fc.constantFrom(1, 3, 5).map((units) => units * unitMs)
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ call: fc.constant('claim' as const), key, leaseMs }) },
    { weight: 4, arbitrary: fc.record({ call: fc.constant('renew' as const), key, holder, leaseMs, marks }) },
    { weight: 1, arbitrary: fc.record({ call: fc.constant('complete' as const), key, holder }) },
    { weight: 3, arbitrary: fc.record({ call: fc.constant('release' as const), key, holder, marks }) },
    { weight: 5, arbitrary: fc.record({ call: fc.constant('pass' as const), ms }) },
  )
  return fc.array(step, { maxLength: 40, size: 'max' })
}

/** Takes the steps on a store and on the model beside it, and throws at the first answer that differs. */
export async function compareWithModel({ store, pass }: StoreSubject, taken: readonly Step[]): Promise<void> {
  const model = new StoreModel()
  const tokens = new Map<string, string[]>()
  const tokenOf = (key: string, holder: number) => tokens.get(key)?.at(-1 - holder) ?? 'a token of nobody'
  for (const step of taken) {
    switch (step.call) {
      case 'claim': {
        const claim = await store.claim(step.key, step.leaseMs, 'acme')
        const expected = model.claim(step.key)
        strictEqual(claim.state, expected.state)
        if (claim.state !== 'claimed' || expected.state !== 'claimed') break
        deepStrictEqual([...claim.marks].sort(), [...expected.marks].sort())
        model.hold(step.key, claim.token, step.leaseMs)
        tokens.set(step.key, [...(tokens.get(step.key) ?? []), claim.token])
        break
      }
      case 'renew': {
        const token = tokenOf(step.key, step.holder)
        strictEqual(
          await store.renew(step.key, token, step.leaseMs, step.marks),
          model.renew(step.key, token, step.leaseMs, step.marks),
        )
        break
      }
      case 'complete': {
        const token = tokenOf(step.key, step.holder)
        strictEqual(await store.complete(step.key, token), model.complete(step.key, token))
        break
      }
      case 'release': {
        const token = tokenOf(step.key, step.holder)
        strictEqual(await store.release(step.key, token, step.marks), model.release(step.key, token, step.marks))
        break
      }
      case 'pass':
        await pass(step.ms)
        model.now += step.ms
    }
  }
}

interface Entry {
  isDone: boolean
  marks: Set<string>
  token: string | undefined
  endsAt: number
}

/** The contract in its plainest form: no bound, no retention, everything in one map. */
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

  hold(key: string, token: string, leaseMs: number): void {
    Object.assign(this.#entry(key), { token, endsAt: this.now + leaseMs })
  }

  renew(key: string, token: string, leaseMs: number, marks: readonly string[]): boolean {
    const entry = this.#entry(key)
    if (this.#isFenced(entry, token) || entry.isDone) return false
    this.hold(key, token, leaseMs)
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

import { deepStrictEqual, notStrictEqual, ok, strictEqual } from 'node:assert/strict'
import type { Claim, Store } from 'postern'

/** A store on its own, with a way to let its time pass: by moving a clock, or by waiting. */
export interface StoreSubject {
  readonly store: Store
  pass(ms: number): void | Promise<void>
}

/** One thing that every store must do. It throws where the store does not. */
export interface StoreCase {
  readonly name: string
  /** Options that the subject is to be made with. */
  readonly options?: { readonly retentionMs: number }
  run(subject: StoreSubject): Promise<void>
}

const KEY = '7:default4:acme5:evt_1'
const OTHER_KEY = '7:default4:acme5:evt_2'
const LEASE_MS = 600
/** Long enough for a lease to have ended, whatever the engine's clock counts in. */
const OVER_MS = 700
const HALF_MS = 300
const STRANGER = '999999999'
const DONE: Claim = { state: 'done' }
const BUSY: Claim = { state: 'busy' }

/** The contract of `Store`, as its interface tells it. */
export const storeCases: readonly StoreCase[] = [
  {
    name: 'claims a key that it does not know, with a token and without marks',
    async run({ store }) {
      const { token, marks } = await take(store)
      ok(typeof token === 'string' && token.length > 0)
      deepStrictEqual(marks, [])
    },
  },
  {
    name: 'answers busy while a claim lives, to everybody',
    async run({ store, pass }) {
      await take(store)
      await pass(HALF_MS)
      for (let turn = 0; turn < 3; turn++) deepStrictEqual(await claim(store), BUSY)
    },
  },
  {
    name: 'gives a key to one of many that claim it at once',
    async run({ store }) {
      const claims = await Promise.all(Array.from({ length: 100 }, () => claim(store)))
      strictEqual(claims.filter(({ state }) => state === 'claimed').length, 1)
      strictEqual(claims.filter(({ state }) => state === 'busy').length, 99)
    },
  },
  {
    name: 'gives a key to one of many also when it changes hands again and again',
    async run({ store }) {
      let [holders, most, turns] = [0, 0, 0]
      const work = async () => {
        while (turns < 50) {
          const claimed = await claim(store)
          if (claimed.state === 'claimed') {
            turns++
            most = Math.max(most, ++holders)
            await nextTurn()
            holders--
            ok(await store.release(KEY, claimed.token, []))
          }
          await nextTurn()
        }
      }
      await Promise.all([work(), work(), work(), work()])
      strictEqual(most, 1)
    },
  },
  {
    name: 'holds different keys apart',
    async run({ store }) {
      const keys = [
        'a',
        'A',
        'a ',
        'aa',
        'a:',
        '__proto__',
        'constructor',
        'toString',
        'x'.repeat(399),
        'x'.repeat(400),
        '%',
        '*',
        "'",
      ]
      const tokens = new Map<string, string>()
      for (const key of keys) tokens.set(key, (await take(store, key)).token)
      for (const [index, key] of keys.entries())
        if (index % 2 === 0) ok(await store.complete(key, tokens.get(key) ?? ''))
      for (const [index, key] of keys.entries())
        deepStrictEqual(await claim(store, key), index % 2 === 0 ? DONE : BUSY, key)
    },
  },
  {
    name: 'gives every claim a token of its own',
    async run({ store, pass }) {
      const tokens: string[] = []
      for (let turn = 0; turn < 10; turn++) {
        const { token } = await take(store)
        tokens.push(token, (await take(store, `${OTHER_KEY}${turn}`)).token)
        await store.release(KEY, token, [])
      }
      tokens.push((await take(store)).token)
      await pass(OVER_MS)
      tokens.push((await take(store)).token)
      strictEqual(new Set(tokens).size, tokens.length)
    },
  },
  {
    name: 'lets a claim end by itself',
    async run({ store, pass }) {
      const first = await take(store)
      await pass(OVER_MS)
      notStrictEqual((await take(store)).token, first.token)
    },
  },

  // renew
  {
    name: 'renews a claim from now on',
    async run({ store, pass }) {
      const { token } = await take(store)
      for (let turn = 0; turn < 3; turn++) {
        await pass(HALF_MS)
        ok(await store.renew(KEY, token, LEASE_MS, []))
      }
      await pass(HALF_MS)
      deepStrictEqual(await claim(store), BUSY)
      await pass(OVER_MS)
      await take(store)
    },
  },
  {
    name: 'keeps the marks that came with a renewal, also when the claim then ends by itself',
    async run({ store, pass }) {
      const { token } = await take(store)
      ok(await store.renew(KEY, token, LEASE_MS, ['a']))
      ok(await store.renew(KEY, token, LEASE_MS, ['b', 'a']))
      ok(await store.renew(KEY, token, LEASE_MS, []))
      await pass(OVER_MS)
      deepStrictEqual(sorted((await take(store)).marks), ['a', 'b'])
    },
  },
  {
    name: 'renews a claim that has ended while nobody took the key',
    async run({ store, pass }) {
      const { token } = await take(store)
      await pass(OVER_MS)
      ok(await store.renew(KEY, token, LEASE_MS, ['a']))
      deepStrictEqual(await claim(store), BUSY)
      ok(await store.complete(KEY, token))
    },
  },
  {
    name: 'does not renew the claim of another, nor keep what came with it',
    async run({ store, pass }) {
      const first = await take(store)
      await pass(OVER_MS)
      const second = await take(store)
      strictEqual(await store.renew(KEY, first.token, LEASE_MS * 100, ['a']), false)
      strictEqual(await store.renew(KEY, STRANGER, LEASE_MS * 100, ['b']), false)
      ok(await store.release(KEY, second.token, []))
      deepStrictEqual((await take(store)).marks, [])
    },
  },
  {
    name: 'does not lengthen the claim of another',
    async run({ store, pass }) {
      await take(store)
      strictEqual(await store.renew(KEY, STRANGER, LEASE_MS * 100, []), false)
      await pass(OVER_MS)
      await take(store)
    },
  },
  {
    name: 'does not renew what is done',
    async run({ store, pass }) {
      const first = await take(store)
      await pass(OVER_MS)
      const second = await take(store)
      ok(await store.complete(KEY, second.token))
      strictEqual(await store.renew(KEY, first.token, LEASE_MS, []), false)
      strictEqual(await store.renew(KEY, second.token, LEASE_MS, []), false)
      deepStrictEqual(await claim(store), DONE)
    },
  },

  // complete
  {
    name: 'answers done after complete, for as long as it lives',
    async run({ store, pass }) {
      const { token } = await take(store)
      ok(await store.complete(KEY, token))
      deepStrictEqual(await claim(store), DONE)
      await pass(OVER_MS)
      deepStrictEqual(await claim(store), DONE)
    },
  },
  {
    name: 'answers a repeated complete as the first one',
    async run({ store }) {
      const { token } = await take(store)
      for (let turn = 0; turn < 3; turn++) ok(await store.complete(KEY, token))
      deepStrictEqual(await claim(store), DONE)
    },
  },
  {
    name: 'does not complete the claim of another, which goes on',
    async run({ store, pass }) {
      const first = await take(store)
      await pass(OVER_MS)
      const second = await take(store)
      strictEqual(await store.complete(KEY, first.token), false)
      strictEqual(await store.complete(KEY, first.token), false)
      deepStrictEqual(await claim(store), BUSY)
      ok(await store.renew(KEY, second.token, LEASE_MS, []))
      ok(await store.complete(KEY, second.token))
      deepStrictEqual(await claim(store), DONE)
    },
  },
  {
    name: 'completes a claim that has ended while nobody took the key',
    async run({ store, pass }) {
      const { token } = await take(store)
      await pass(OVER_MS)
      ok(await store.complete(KEY, token))
      deepStrictEqual(await claim(store), DONE)
    },
  },
  {
    name: 'completes a claim though another one came and ended since',
    async run({ store, pass }) {
      const first = await take(store)
      await pass(OVER_MS)
      await take(store)
      await pass(OVER_MS)
      ok(await store.complete(KEY, first.token))
      deepStrictEqual(await claim(store), DONE)
    },
  },
  {
    name: 'completes a key that it has forgotten, or never knew',
    async run({ store }) {
      ok(await store.complete(KEY, STRANGER))
      deepStrictEqual(await claim(store), DONE)
    },
  },
  {
    name: 'completes what was released, and what another has completed',
    async run({ store }) {
      const first = await take(store)
      ok(await store.release(KEY, first.token, []))
      ok(await store.complete(KEY, first.token))
      ok(await store.complete(KEY, STRANGER))
      deepStrictEqual(await claim(store), DONE)
    },
  },

  // release
  {
    name: 'gives a released key to the next claim at once, with the marks',
    async run({ store }) {
      const { token } = await take(store)
      ok(await store.release(KEY, token, ['a', 'b']))
      deepStrictEqual(sorted((await take(store)).marks), ['a', 'b'])
    },
  },
  {
    name: 'gathers marks over renewals and attempts, each once',
    async run({ store }) {
      const first = await take(store)
      ok(await store.renew(KEY, first.token, LEASE_MS, ['a']))
      ok(await store.release(KEY, first.token, ['b']))
      const second = await take(store)
      ok(await store.release(KEY, second.token, ['c', 'a']))
      const third = await take(store)
      deepStrictEqual(sorted(third.marks), ['a', 'b', 'c'])
      ok(await store.release(KEY, third.token, []))
      deepStrictEqual(sorted((await take(store)).marks), ['a', 'b', 'c'])
    },
  },
  {
    name: 'takes any printable name as a mark, and many of them',
    async run({ store }) {
      const names = [
        'contact.*',
        '*',
        'a#1/2',
        "o'clock",
        'a,b',
        '{}',
        '"',
        '\\',
        '%s',
        '__proto__',
        'constructor',
        'x'.repeat(100),
      ]
      const many = Array.from({ length: 200 }, (_, index) => `handler-${index}`)
      const { token } = await take(store)
      ok(await store.release(KEY, token, [...names, ...many]))
      deepStrictEqual(sorted((await take(store)).marks), sorted([...names, ...many]))
    },
  },
  {
    name: 'keeps marks of its own: a list that changes later changes nothing',
    async run({ store, pass }) {
      const [first, marks] = [await take(store), ['a']]
      ok(await store.renew(KEY, first.token, LEASE_MS, marks))
      marks.push('b')
      await pass(OVER_MS)
      const second = await take(store)
      marks.push('c')
      ok(await store.release(KEY, second.token, []))
      deepStrictEqual((await take(store)).marks, ['a'])
    },
  },
  {
    name: 'answers a repeated release as the first one',
    async run({ store }) {
      const { token } = await take(store)
      for (let turn = 0; turn < 3; turn++) ok(await store.release(KEY, token, ['a']))
      deepStrictEqual((await take(store)).marks, ['a'])
    },
  },
  {
    name: 'keeps what further releases bring while nobody holds the key',
    async run({ store }) {
      const { token } = await take(store)
      for (const mark of ['a', 'b', 'c']) ok(await store.release(KEY, token, [mark]))
      deepStrictEqual(sorted((await take(store)).marks), ['a', 'b', 'c'])
    },
  },
  {
    name: 'keeps earlier marks beside those of a renewal that nobody else held the key for',
    async run({ store, pass }) {
      const { token } = await take(store)
      ok(await store.release(KEY, token, ['a']))
      ok(await store.renew(KEY, token, LEASE_MS, ['b']))
      await pass(OVER_MS)
      const { marks } = await take(store)
      deepStrictEqual(sorted(marks), ['a', 'b'])
    },
  },
  {
    name: 'does not release the claim of another, nor keep its marks',
    async run({ store, pass }) {
      const first = await take(store)
      await pass(OVER_MS)
      const second = await take(store)
      strictEqual(await store.release(KEY, first.token, ['a']), false)
      strictEqual(await store.release(KEY, first.token, ['a']), false)
      deepStrictEqual(await claim(store), BUSY)
      ok(await store.release(KEY, second.token, []))
      deepStrictEqual((await take(store)).marks, [])
    },
  },
  {
    name: 'keeps the marks of a claim that had ended before its release, while nobody took the key',
    async run({ store, pass }) {
      const { token } = await take(store)
      await pass(OVER_MS)
      ok(await store.release(KEY, token, ['a']))
      deepStrictEqual((await take(store)).marks, ['a'])
    },
  },
  {
    name: 'does not undo what is done by a late release',
    async run({ store, pass }) {
      const first = await take(store)
      await pass(OVER_MS)
      const second = await take(store)
      ok(await store.complete(KEY, second.token))
      ok(await store.release(KEY, first.token, ['a']))
      ok(await store.release(KEY, second.token, ['a']))
      deepStrictEqual(await claim(store), DONE)
    },
  },

  // retention
  {
    name: 'forgets what is done after the retention, and not before',
    options: { retentionMs: 2_000 },
    async run({ store, pass }) {
      const { token } = await take(store)
      ok(await store.complete(KEY, token))
      await pass(1_000)
      deepStrictEqual(await claim(store), DONE)
      await pass(1_500)
      deepStrictEqual((await take(store)).marks, [])
    },
  },
  {
    name: 'forgets marks after the retention, and not before',
    options: { retentionMs: 2_000 },
    async run({ store, pass }) {
      const first = await take(store)
      ok(await store.release(KEY, first.token, ['a']))
      await pass(1_000)
      const second = await take(store)
      deepStrictEqual(second.marks, ['a'])
      ok(await store.release(KEY, second.token, []))
      await pass(2_500)
      deepStrictEqual((await take(store)).marks, [])
    },
  },
  {
    name: 'tells how long it remembers',
    options: { retentionMs: 12_345_678 },
    async run({ store }) {
      strictEqual(store.retentionMs, 12_345_678)
    },
  },
]

function claim(store: Store, key: string = KEY): Claim | Promise<Claim> {
  return store.claim(key, LEASE_MS, 'acme')
}

async function take(store: Store, key: string = KEY): Promise<Extract<Claim, { readonly state: 'claimed' }>> {
  const claimed = await claim(store, key)
  if (claimed.state !== 'claimed') throw new Error(`expected to get the key, but it is ${claimed.state}`)
  return claimed
}

/** Lets the others have their turn, so that stores that answer at once are taken turns on as well. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function sorted(marks: readonly string[]): readonly string[] {
  return [...marks].sort()
}

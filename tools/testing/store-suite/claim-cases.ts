import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { BUSY, DONE, toCases } from './trial.ts'

export const claimCases = toCases({
  'claims a key that it does not know, with a token and without marks': async (trial) => {
    const { token, marks } = await trial.take()
    ok(typeof token === 'string' && token.length > 0)
    deepStrictEqual(marks, [])
  },
  'gives a key to one of many that claim it at once': async (trial) => {
    // A store may call its engine for one after the other, and each has 3 s, on a slow machine as well.
    const stores = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? trial.store : trial.another))
    for (let round = 0; round < 20; round++) {
      const claims = await Promise.all(stores.map((store) => trial.claim(`${trial.key}:${round}`, store)))
      strictEqual(claims.filter(({ state }) => state === 'claimed').length, 1)
      strictEqual(claims.filter(({ state }) => state === 'busy').length, 19)
    }
  },
  'gives a key to one of many also when it changes hands again and again': async (trial) => {
    let [holders, most, turns] = [0, 0, 0]
    const work = async () => {
      while (turns < 50) {
        const claim = await trial.claim()
        if (claim.state === 'claimed') {
          turns++
          most = Math.max(most, ++holders)
          await nextTurn()
          holders--
          ok(await trial.store.release(trial.key, claim.token, []))
        }
        await nextTurn()
      }
    }
    await Promise.all([work(), work(), work(), work()])
    strictEqual(most, 1)
  },
  'claims many keys at once, each by itself': async (trial) => {
    const keys = Array.from({ length: 300 }, (_, index) => `${trial.key}:${index % 100}`)
    const claims = await Promise.all(keys.map((key) => trial.claim(key)))
    const claimed = keys.filter((_, index) => claims[index]?.state === 'claimed')
    strictEqual(claimed.length, 100)
    strictEqual(new Set(claimed).size, 100)
  },
  'holds keys apart that differ in little': async (trial) => {
    const endings = ['a', 'A', 'a ', 'aa', 'a:', '{a}', '{', '}', '%', '_', '*', '?', "'", '"', '\\', '\\\\', '']
    const keys = endings.map((ending) => `${trial.key}:${ending}`)
    const long = trial.key.padEnd(400, 'x')
    keys.push(long, long.slice(0, -1), `${long.slice(0, -1)}y`)
    const tokens = await Promise.all(keys.map(async (key) => (await trial.take(key)).token))
    for (const [index, key] of keys.entries())
      if (index % 2 === 0) ok(await trial.store.complete(key, tokens[index] ?? ''))
    for (const [index, key] of keys.entries())
      deepStrictEqual(await trial.claim(key), index % 2 === 0 ? DONE : BUSY, key)
  },
  'takes the names of what every object has for keys like any other': async (trial) => {
    for (const key of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'then', '0', '-1', 'null']) {
      const first = await trial.claim(key).then((claim) => {
        // A trial that was too slow may have left it claimed.
        return claim.state === 'claimed' ? claim : trial.outlastLease().then(() => trial.claim(key))
      })
      const second = await trial.claim(key)
      // Releases the keys before checking, so that a repeated trial, and a later run on the same engine, find them free.
      const wasReleased = first.state === 'claimed' && (await trial.store.release(key, first.token, []))
      if (second.state === 'claimed') await trial.store.release(key, second.token, [])
      strictEqual(first.state, 'claimed', key)
      deepStrictEqual(first.state === 'claimed' && first.marks, [], key)
      deepStrictEqual(second, BUSY, key)
      ok(wasReleased, key)
    }
  },
  'takes a late renewal, completion or release before the claim of another, or not at all': async (trial) => {
    const { store, another, leaseMs } = trial
    const calls = {
      renew: (key: string, token: string) => store.renew(key, token, leaseMs, []),
      complete: (key: string, token: string) => store.complete(key, token),
      release: (key: string, token: string) => store.release(key, token, []),
    }
    const afterwards = { renew: 'busy', complete: 'done', release: 'claimed' }
    const names = Array.from({ length: 5 }, () => ['renew', 'complete', 'release'] as const).flat()
    const keys = names.map((name, index) => `${trial.key}:${name}:${index}`)
    const held = await Promise.all(keys.map((key) => trial.take(key)))
    await trial.outlastLease()
    const answers = await Promise.all(
      names.map((name, index) => {
        const [key = '', token = ''] = [keys[index], held[index]?.token]
        return Promise.all([calls[name](key, token), trial.claim(key, another)])
      }),
    )
    for (const [index, [isTaken, { state }]] of answers.entries()) {
      const [name = 'renew', key] = [names[index], keys[index]]
      // A claim that comes while the key is being written may find it busy, and asks again.
      const isAsked = isTaken && state === 'busy'
      const expected = isTaken ? afterwards[name] : 'claimed'
      if (!isAsked) strictEqual(state, expected, key)
      strictEqual((await trial.claim(key)).state, isAsked || expected === 'done' ? expected : 'busy', key)
    }
  },
  'answers a claim as before or after a completion or release that comes at the same time': async (trial) => {
    const { store, another } = trial
    const turns = Array.from({ length: 20 }, async (_, index) => {
      const [key, isDone] = [`${trial.key}:${index}`, index < 10]
      const { token } = await trial.take(key)
      const early = index % 2 === 0 ? trial.claim(key, another) : undefined
      const settling = isDone ? store.complete(key, token) : store.release(key, token, ['a'])
      const [claim, isTaken] = await Promise.all([early ?? trial.claim(key, another), settling])
      ok(isTaken)
      if (claim.state === 'claimed') deepStrictEqual([isDone, claim.marks], [false, ['a']], key)
    })
    await Promise.all(turns)
  },
  'gives a claim that ended by itself to one of many': async (trial) => {
    await trial.take()
    await trial.outlastLease()
    const claims = await Promise.all(Array.from({ length: 10 }, () => trial.claim()))
    strictEqual(claims.filter(({ state }) => state === 'claimed').length, 1)
  },
})

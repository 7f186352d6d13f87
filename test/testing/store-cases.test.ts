import { setTimeout as sleep } from 'node:timers/promises'
import { type Claim, memoryStore, type Store } from 'postern'
import { storeSuite } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { makeStores } from './faulty-store.ts'
import { makeTime, runAtSpeed } from './run-at-speed.ts'

const makeStore = () => memoryStore()
const outage = { begin() {}, end() {} }
const transaction = { write: () => {}, has: () => true }

describe('the cases', () => {
  it('are those that the store supports', () => {
    const count = (options?: Parameters<typeof storeSuite>[1]) => storeSuite(makeStore, options).length
    expect(count({ outage }) - count()).toBe(4)
    expect(count() - count({ hasOwnClock: false })).toBe(6)
    expect(count({ hasOwnClock: false }) - count({ isShared: false })).toBe(1)
    expect(count({ isShared: false, hasOwnClock: false })).toBe(count({ isShared: false }))
    expect(count({ transaction }) - count()).toBe(18)
    expect(count({ transaction }) - count({ transaction: { ...transaction, isAsynchronous: false } })).toBe(3)
  })

  it('reject a store without transactions if the suite is told how to write in them', async () => {
    const [first] = storeSuite(makeStore, { transaction }).filter(({ name }) => name.startsWith('commits what'))
    await expect(first?.run()).rejects.toThrow('neither transaction() nor transactionSync()')
  })

  it('find their keys free in another run, after one that was too slow', async () => {
    const claims = new Map<string, number>()
    const store = makeStores('none').makeStore({})
    const claim = async (key: string, leaseMs: number): Promise<Claim> => {
      const count = (claims.get(key) ?? 0) + 1
      claims.set(key, count)
      if (key !== '__proto__' || count !== 2) return store.claim(key, leaseMs)
      await sleep(80)
      return { state: 'claimed', token: 'of an ended lease', marks: [] }
    }
    const cases = storeSuite(() => ({ ...store, claim }), { isShared: false })
    await cases.find(({ name }) => name.startsWith('takes the names of what every object has'))?.run()
    expect(claims.get('__proto__')).toBe(4)
  })

  it.each([
    ['right', 0],
    ['wrong at the last step of a sequence', 3],
  ])('judge in real time, a hundred calls at a time, a store of 10 ms a call that is %s', async (_what, wrong) => {
    const { monotonic, pass } = makeTime()
    const [units, counts] = [new Set<string>(), new Map<string, number>()]
    let [open, most] = [0, 0]
    const store: Store = memoryStore({ clock: { monotonic } })
    const call = async <T>(key: string, answer: () => T | Promise<T>) => {
      units.add(key.slice(0, key.lastIndexOf(':')))
      pass(10)
      most = Math.max(most, ++open)
      await undefined
      open--
      return answer()
    }
    const [claim, complete] = [store.claim.bind(store), store.complete.bind(store)]
    const isRight = (key: string) => counts.set(key, (counts.get(key) ?? 0) + 1).get(key) !== wrong
    const slow: Partial<Store> = {
      claim: (key, ...rest) => call(key, () => claim(key, ...rest)),
      complete: (key, ...rest) => call(key, () => isRight(key) && complete(key, ...rest)),
    }
    const cases = storeSuite(() => Object.assign(store, slow), { isShared: false })
    const judging = cases.find(({ name }) => name.includes('every sequence'))?.run()
    await (wrong === 0 ? judging : expect(judging).rejects.toThrow('step 3 of'))
    // The time of a unit in which 1,728 claims of 10 ms are two fifths, found in one try.
    expect([[...units].map((unit) => unit.split(':').at(-1)), most]).toEqual([['1000', '44000'], 100])
  })
})

describe('a case that a store fails', () => {
  type Options = Parameters<typeof storeSuite>[1]

  /** Prepares the case that begins so, on a store whose claims are answered by number. */
  function prepare(begin: string, answer: (n: number) => Claim | Promise<Claim>, options: Options = {}) {
    const leases: number[] = []
    const { makeStore } = makeStores('none')
    const claim = (_key: string, leaseMs: number) => answer(leases.push(leaseMs))
    const cases = storeSuite((given) => ({ ...makeStore(given), claim }), { isShared: false, ...options })
    const run = async () => cases.find(({ name }) => name.startsWith(begin))?.run()
    return { leases, run }
  }
  const claimed = (n: number): Claim => ({ state: 'claimed', token: `token ${n}`, marks: [] })
  const busy: Claim = { state: 'busy' }

  it('is run again with longer leases if the store was slow', async () => {
    const { leases, run } = prepare('claims a key that', async (n) => {
      await sleep(n <= 2 ? 40 : 0)
      return n <= 2 ? busy : claimed(n)
    })
    await runAtSpeed(10, run)
    expect(leases).toEqual([600, 1_200, 2_400])
  })

  it('is not judged if the store is slow no matter how long the leases are', async () => {
    const { leases, run } = prepare('claims a key that', () => sleep(50, busy))
    await expect(runAtSpeed(200, run)).rejects.toMatchObject({
      message: expect.stringContaining('too slow to judge'),
      cause: { message: expect.stringContaining('claim of') },
    })
    expect(leases).toEqual([600, 1_200, 2_400, 4_800, 9_600, 19_200, 38_400])
  })

  it.each<
    [what: string, begin: string, answer: (n: number) => Claim | Promise<Claim>, count: number, options: Options]
  >([
    ['was not slow', 'claims a key that', () => busy, 1, {}],
    ['took the time that the case lets pass', 'gives a claim that ended', claimed, 11, {}],
    ['took its time while the test moves the clock', 'claims a key that', () => sleep(300, busy), 1, { pass() {} }],
    ['was without its engine', 'takes "done" after', (n) => (n === 1 ? claimed(n) : busy), 2, { outage }],
  ])('is not run again if the store %s', async (_what, begin, answer, count, options) => {
    const { leases, run } = prepare(begin, answer, options)
    await expect(runAtSpeed(1 / 2, run)).rejects.toThrow()
    expect(leases).toEqual(Array(count).fill(600))
  })
})

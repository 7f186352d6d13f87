import { setTimeout as sleep } from 'node:timers/promises'
import { memoryStore, type Store } from 'postern'
import { storeSuite } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { itKeepsTheContract } from '../store/check-store.ts'

/** One memory that several stores share, as several processes share one engine, and which can be removed. */
function sharedMemory() {
  const stores = new Map<number | undefined, Store>()
  let back: Promise<void> | undefined
  let bringBack = () => {}
  const engineOf = (retentionMs: number | undefined) => {
    const engine = stores.get(retentionMs) ?? memoryStore(retentionMs === undefined ? {} : { retentionMs })
    stores.set(retentionMs, engine)
    return engine
  }
  const makeStore = ({ retentionMs }: { readonly retentionMs?: number }, change: Partial<Store> = {}): Store => {
    const engine = engineOf(retentionMs)
    const reach = async <T>(call: () => T | Promise<T>): Promise<T> => {
      await back
      return await call()
    }
    return {
      retentionMs: engine.retentionMs,
      claim: (...given) => reach(() => engine.claim(...given)),
      renew: (key, token, leaseMs, marks) => {
        const kept = [...marks]
        return reach(() => engine.renew(key, token, leaseMs, kept))
      },
      complete: (...given) => reach(() => engine.complete(...given)),
      release: (...given) => reach(() => engine.release(...given)),
      ...change,
    }
  }
  const outage = {
    begin() {
      back = new Promise((resolve) => {
        bringBack = resolve
      })
    },
    end() {
      bringBack()
      back = undefined
    },
  }
  return { makeStore, outage }
}

describe('on a store that several processes share, with an engine that can be removed', () => {
  const { makeStore, outage } = sharedMemory()
  itKeepsTheContract(makeStore, { outage })
})

describe('the cases', () => {
  const makeStore = () => memoryStore()

  it('have unique names', () => {
    const names = storeSuite(makeStore, { outage: { begin() {}, end() {} } }).map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
  })

  it('are those that the store supports', () => {
    const count = (options?: Parameters<typeof storeSuite>[1]) => storeSuite(makeStore, options).length
    const all = count({ outage: { begin() {}, end() {} } })
    expect(all - count()).toBe(4)
    expect(count() - count({ hasOwnClock: false })).toBe(6)
    expect(count({ hasOwnClock: false }) - count({ isShared: false })).toBe(5)
    expect(count({ isShared: false, hasOwnClock: false })).toBe(count({ isShared: false }))
  })

  it('find their keys free in another run, after one that was too slow', async () => {
    const claims = new Map<string, number>()
    const { makeStore } = sharedMemory()
    const store = makeStore({})
    const slowOnce = makeStore(
      {},
      {
        async claim(key, leaseMs) {
          const count = (claims.get(key) ?? 0) + 1
          claims.set(key, count)
          if (key === '__proto__' && count === 2) await sleep(leaseMs * 1.2)
          return await store.claim(key, leaseMs)
        },
      },
    )
    const cases = storeSuite(() => slowOnce, { isShared: false })
    await cases.find(({ name }) => name.startsWith('takes the names of what every object has'))?.run()
    expect(claims.get('__proto__')).toBe(4)
  })
})

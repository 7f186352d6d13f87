import { memoryStore, type Store } from 'postern'
import { describe } from 'vitest'
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

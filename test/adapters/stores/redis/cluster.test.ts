import type { Store } from 'postern'
import { redisStore } from 'postern/redis'
import { afterAll, beforeAll, describe } from 'vitest'
import { startCluster } from '../../../engines/redis-cluster.ts'
import { redisProgram } from '../../../engines/redis-server.ts'
import { theyKeepTheContract } from '../../../store/check-store.ts'
import { CLUSTER_CLIENTS, type TestClient } from './clients.ts'

describe.skipIf(redisProgram === undefined)('the contract of a store, on a real cluster of three', () => {
  let cluster: Awaited<ReturnType<typeof startCluster>>
  const connected: TestClient[] = []
  beforeAll(async () => {
    cluster = await startCluster()
  }, 60_000)
  afterAll(async () => {
    await Promise.all(connected.map((client) => client.close()))
    await cluster.remove()
  })

  const toMaker = (name: string, connect: (port: number) => Promise<TestClient>) => {
    return async (options: { readonly retentionMs?: number }): Promise<Store> => {
      const made = await connect(cluster.port)
      connected.push(made)
      return redisStore({ client: made.client, prefix: `${name}:`, ...options })
    }
  }
  const makers = Object.entries(CLUSTER_CLIENTS).map(([name, connect]) => [name, toMaker(name, connect)] as const)
  theyKeepTheContract(Object.fromEntries(makers))
})

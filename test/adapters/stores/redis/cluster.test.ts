import type { Store } from 'postern'
import { redisStore } from 'postern/redis'
import { describe } from 'vitest'
import { startCluster } from '../../../engines/redis-cluster.ts'
import { redisProgram } from '../../../engines/redis-server.ts'
import { serverFor } from '../../../engines/server-for.ts'
import { theyKeepTheContract } from '../../../store/check-store.ts'
import { CLUSTER_CLIENTS, keepClients, type TestClient } from './clients.ts'

describe.skipIf(redisProgram === undefined)('the contract of a store, on a real cluster of three', () => {
  const cluster = serverFor(startCluster)
  const keep = keepClients()

  const toMaker = (name: string, connect: (port: number) => Promise<TestClient>) => {
    return async (options: { readonly retentionMs?: number }): Promise<Store> => {
      const { client } = keep(await connect(cluster().port))
      return redisStore({ client, prefix: `${name}:`, ...options })
    }
  }
  const makers = Object.entries(CLUSTER_CLIENTS).map(([name, connect]) => [name, toMaker(name, connect)] as const)
  theyKeepTheContract(Object.fromEntries(makers))
})

import type { Store } from 'postern'
import { redisStore } from 'postern/redis'
import { describe } from 'vitest'
import { redisProgram, startRedis } from '../../../engines/redis-server.ts'
import { serverFor } from '../../../engines/server-for.ts'
import { theyKeepTheContract } from '../../../store/check-store.ts'
import { CLIENTS, keepClients, type TestClient } from './clients.ts'

describe.skipIf(redisProgram === undefined)('the contract of a store, on a real Redis', () => {
  const server = serverFor(() => startRedis())
  const keep = keepClients()

  /** Every store has its own connection, like those of two processes. */
  const toMaker = (name: string, connect: (port: number) => Promise<TestClient>) => {
    return async (options: { readonly retentionMs?: number }): Promise<Store> => {
      const { client } = keep(await connect(server().port))
      return redisStore({ client, prefix: `${name}:`, ...options })
    }
  }
  theyKeepTheContract(
    Object.fromEntries(Object.entries(CLIENTS).map(([name, connect]) => [name, toMaker(name, connect)])),
  )
})

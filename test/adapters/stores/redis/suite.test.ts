import type { Store } from 'postern'
import { redisStore } from 'postern/redis'
import { afterAll, beforeAll, describe } from 'vitest'
import { type RedisServer, redisProgram, startRedis } from '../../../engines/redis-server.ts'
import { theyKeepTheContract } from '../../../store/check-store.ts'
import { CLIENTS, type TestClient } from './clients.ts'

describe.skipIf(redisProgram === undefined)('the contract of a store, on a real Redis', () => {
  let server: RedisServer
  const connected: TestClient[] = []
  beforeAll(async () => {
    server = await startRedis()
  })
  afterAll(async () => {
    await Promise.all(connected.map((client) => client.close()))
    await server.remove()
  })

  /** Every store has a connection of its own, as those of two processes have. */
  const toMaker = (name: string, connect: (port: number) => Promise<TestClient>) => {
    return async (options: { readonly retentionMs?: number }): Promise<Store> => {
      const made = await connect(server.port)
      connected.push(made)
      return redisStore({ client: made.client, prefix: `${name}:`, ...options })
    }
  }
  theyKeepTheContract(
    Object.fromEntries(Object.entries(CLIENTS).map(([name, connect]) => [name, toMaker(name, connect)])),
  )
})

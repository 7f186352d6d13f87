import { redisStore } from 'postern/redis'
import { beforeAll, describe } from 'vitest'
import { startCluster } from '../../../engines/redis-cluster.ts'
import { redisProgram, startRedis } from '../../../engines/redis-server.ts'
import { serverFor } from '../../../engines/server-for.ts'
import { theyKeepTheContract } from '../../../store/check-store.ts'
import { CLIENTS, CLUSTER_CLIENTS, keepClients, type TestClient } from './clients.ts'

describe.skipIf(redisProgram === undefined).each([
  ['server', () => startRedis(), CLIENTS],
  ['cluster of three', startCluster, CLUSTER_CLIENTS],
] as const)('the contract of a store, on a real %s', (_what, start, clients) => {
  const server = serverFor<{ readonly port: number; remove(): Promise<void> }>(start)
  const keep = keepClients()
  const opened = new Map<string, readonly TestClient[]>()

  // Two connections of each kind, like those of two processes, before the cases keep this process busy.
  beforeAll(async () => {
    for (const [name, connect] of Object.entries(clients))
      opened.set(name, [keep(await connect(server().port)), keep(await connect(server().port))])
  })

  const toMaker = (name: string) => {
    const isMade = new Set<number | undefined>()
    return ({ retentionMs }: { readonly retentionMs?: number }) => {
      const made = opened.get(name)?.[isMade.has(retentionMs) ? 1 : 0] as TestClient // both are open
      isMade.add(retentionMs)
      return redisStore({ client: made.client, prefix: `${name}:`, ...(retentionMs !== undefined && { retentionMs }) })
    }
  }
  theyKeepTheContract(Object.fromEntries(Object.keys(clients).map((name) => [name, toMaker(name)])))
})

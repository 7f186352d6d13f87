import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { findFreePort } from '../support/programs.ts'
import { type RedisServer, startRedis } from './redis-server.ts'

const SLOTS = 16_384
const NODES = 3

export interface RedisCluster {
  /** Of one of its servers. */
  readonly port: number
  readonly ports: readonly number[]
  remove(): Promise<void>
}

/** Three servers that share the slots among them, without replicas. */
export async function startCluster(): Promise<RedisCluster> {
  const startNode = async () =>
    startRedis(
      '--cluster-enabled',
      'yes',
      '--cluster-port',
      String(await findFreePort()),
      '--cluster-node-timeout',
      '2000',
    )
  const nodes: RedisServer[] = []
  const remove = async () => void (await Promise.all(nodes.map((node) => node.remove())))
  try {
    for (let index = 0; index < NODES; index++) nodes.push(await startNode())
    await join(nodes)
  } catch (error) {
    await remove()
    throw error
  }
  const ports = nodes.map(({ port }) => port)
  return { port: ports[0] ?? 0, ports, remove }
}

async function join(nodes: readonly RedisServer[]): Promise<void> {
  const clients = nodes.map(({ port }) => new Redis(port, '127.0.0.1'))
  const busPorts = await Promise.all(
    clients.map(async (client) => ((await client.config('GET', 'cluster-port')) as string[])[1] ?? ''),
  ) // names and values in turn
  for (const [index, client] of clients.entries()) {
    const [from, to] = [index, index + 1].map((at) => Math.floor((at * SLOTS) / NODES))
    await client.call('CLUSTER', 'ADDSLOTSRANGE', String(from), String((to ?? 0) - 1))
    await client.call('CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1))
    if (index > 0)
      await clients[0]?.call('CLUSTER', 'MEET', '127.0.0.1', String(nodes[index]?.port), busPorts[index] ?? '')
  }
  const isWhole = async (client: Redis) => {
    const info = await client.cluster('INFO')
    return info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${NODES}`)
  }
  for (const client of clients) {
    while (!(await isWhole(client))) await sleep(20)
    client.disconnect()
  }
}

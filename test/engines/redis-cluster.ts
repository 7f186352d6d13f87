import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { findFreePort } from '../support/programs.ts'
import { type RedisServer, startRedis } from './redis-server.ts'

const SLOTS = 16_384
const MASTERS = 3

export interface RedisCluster {
  /** Returns the port of one of its masters. */
  readonly port: number
  /** Returns the ports of its masters. */
  readonly ports: readonly number[]
  /** Kills a master once its replica has all its data. The replica takes its place after some seconds. */
  killMaster(index: number): Promise<void>
  remove(): Promise<void>
}

/** A cluster of three masters that share the slots; with replicas, one for each. */
export async function startCluster({ hasReplicas = false } = {}): Promise<RedisCluster> {
  const startNode = async (): Promise<Node> => {
    const busPort = String(await findFreePort())
    const cluster = ['--cluster-enabled', 'yes', '--cluster-port', busPort, '--cluster-node-timeout', '2000']
    try {
      return { server: await startRedis(...cluster, '--repl-diskless-sync-delay', '0'), busPort }
    } catch (error) {
      if (!String(error).includes('Address already in use')) throw error
      return startNode() // another program took the port meanwhile
    }
  }
  const nodes: Node[] = []
  const remove = async () => void (await Promise.all(nodes.map(({ server }) => server.remove())))
  try {
    while (nodes.length < (hasReplicas ? 2 * MASTERS : MASTERS)) nodes.push(await startNode())
    await join(nodes)
  } catch (error) {
    await remove()
    throw error
  }
  const masters = nodes.slice(0, MASTERS).map(({ server }) => server)
  const ports = masters.map(({ port }) => port)
  const killMaster = async (index: number) => {
    const client = new Redis(ports[index] ?? 0, '127.0.0.1')
    const hasAll = (info: string) => info.includes(`,offset=${/master_repl_offset:(\d+)/.exec(info)?.[1]},`)
    while (!hasAll(await client.info('replication'))) await sleep(20)
    client.disconnect()
    await masters[index]?.kill('SIGKILL')
  }
  return { port: ports[0] ?? 0, ports, killMaster, remove }
}

interface Node {
  readonly server: RedisServer
  readonly busPort: string
}

async function join(nodes: readonly Node[]): Promise<void> {
  const clients = nodes.map(({ server }) => new Redis(server.port, '127.0.0.1'))
  const until = async (isSo: (client: Redis) => Promise<boolean>) => {
    for (const client of clients) while (!(await isSo(client))) await sleep(20)
  }
  for (const [index, client] of clients.entries()) {
    if (index < MASTERS) {
      const [from, to] = [index, index + 1].map((at) => Math.floor((at * SLOTS) / MASTERS))
      await client.call('CLUSTER', 'ADDSLOTSRANGE', String(from), String((to ?? 0) - 1))
    }
    await client.call('CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1))
    const { server, busPort } = nodes[index] as Node // there is a client for each
    if (index > 0) await clients[0]?.call('CLUSTER', 'MEET', '127.0.0.1', String(server.port), busPort)
  }
  await until(async (client) => {
    const info = await client.cluster('INFO')
    return info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${nodes.length}`)
  })
  for (const [index, replica] of clients.slice(MASTERS).entries())
    await replica.call('CLUSTER', 'REPLICATE', String(await clients[index]?.call('CLUSTER', 'MYID')))
  const isInStep = (info: string) => info.includes('role:master') || info.includes('master_link_status:up')
  await until(async (client) => isInStep(await client.info('replication')))
  for (const client of clients) client.disconnect()
}

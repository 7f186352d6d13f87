import { Cluster, Redis } from 'ioredis'
import type { RedisClient } from 'postern/redis'
import { createClient, createClientPool, createCluster, RESP_TYPES } from 'redis'
import * as redis4 from 'redis4'
import { afterAll } from 'vitest'

/** A client under test, and the function that ends it. */
export interface TestClient {
  readonly client: RedisClient
  close(): void | Promise<void>
}

/** Returns a function that keeps the clients of one block of tests, to close them afterwards. */
export function keepClients(): (client: TestClient) => TestClient {
  const kept: TestClient[] = []
  afterAll(() => Promise.all(kept.map((client) => client.close())))
  return (client) => {
    kept.push(client)
    return client
  }
}

/** Every kind of supported client, connected to the server on a port; the clients of a cluster are separate. */
export const CLIENTS: Readonly<Record<string, (port: number) => Promise<TestClient>>> = {
  async 'node-redis'(port) {
    const client = createClient({ url: urlOf(port) })
    await client.connect()
    return { client, close: () => client.destroy() }
  },
  async 'node-redis 4'(port) {
    const client = redis4.createClient({ url: urlOf(port) })
    await client.connect()
    return { client, close: () => client.disconnect() }
  },
  // A connection of a pool carries one call at a time, and a claim has 3 s: with 4 connections, the last of 100 calls waits for 25 round
  // trips, of 120 ms each on a slow machine. It is given up, and its release delays the next claims.
  async 'a pool of node-redis'(port) {
    return openPool(port, { minimum: 32, maximum: 32, acquireTimeout: 60_000 })
  },
  async 'node-redis in RESP3 that gives bytes and numbers as text'(port) {
    const client = createClient({ url: urlOf(port), RESP: 3 })
    await client.connect()
    const types = { [RESP_TYPES.BLOB_STRING]: Buffer, [RESP_TYPES.NUMBER]: String }
    return { client: client.withTypeMapping(types), close: () => client.destroy() }
  },
  async 'node-redis in RESP2'(port) {
    const client = createClient({ url: urlOf(port), RESP: 2 })
    await client.connect()
    return { client, close: () => client.destroy() }
  },
  async ioredis(port) {
    const client = new Redis(port, '127.0.0.1')
    client.on('error', () => {})
    return { client, close: () => client.disconnect() }
  },
  async 'ioredis with a key prefix, numbers as text and automatic pipelines'(port) {
    const client = new Redis(port, '127.0.0.1', {
      keyPrefix: 'app:',
      stringNumbers: true,
      enableAutoPipelining: true,
      lazyConnect: true,
    })
    client.on('error', () => {})
    return { client, close: () => client.disconnect() }
  },
  async 'a bare sendCommand'(port) {
    const client = new Redis(port, '127.0.0.1')
    client.on('error', () => {})
    const sendCommand = ([name = '', ...words]: string[]) => client.call(name, ...words)
    return { client: { sendCommand }, close: () => client.disconnect() }
  },
}

/** Clients whose options make it matter that their connections fall silent. */
const CLIENTS_WITH_LIMITS: typeof CLIENTS = {
  async 'a growing pool of node-redis'(port) {
    return openPool(port, { minimum: 1, maximum: 4, acquireTimeout: 60_000 })
  },
  async 'a pool of node-redis with one connection'(port) {
    return openPool(port, { minimum: 1, maximum: 1 })
  },
  async 'a pool of node-redis with a socketTimeout'(port) {
    return openPool(port, { minimum: 1, maximum: 1 }, { socketTimeout: 4_000, reconnectStrategy: () => 100 })
  },
  async 'ioredis with a time limit of its own'(port) {
    const client = new Redis(port, '127.0.0.1', { commandTimeout: 1_000 })
    client.on('error', () => {})
    return { client, close: () => client.disconnect() }
  },
}

/** `ports` maps the ports that the cluster announces to those at which it is reached. */
type ClusterMaker = (port: number, ports?: ReadonlyMap<number, number>) => Promise<TestClient>

export const CLUSTER_CLIENTS: Readonly<Record<string, ClusterMaker>> = {
  async 'a cluster of node-redis'(port, ports = new Map()) {
    const client = createCluster({ rootNodes: [{ url: urlOf(port) }], nodeAddressMap: toAddresses(ports) })
    client.on('error', () => {})
    await client.connect()
    return { client, close: () => client.destroy() }
  },
  async 'a cluster of node-redis 4'(port, ports = new Map()) {
    const rootNodes = [{ url: urlOf(port) }]
    const client = redis4.createCluster({ rootNodes, nodeAddressMap: toAddresses(ports) })
    client.on('error', () => {})
    await client.connect()
    return { client, close: () => client.disconnect() }
  },
  async 'a cluster of ioredis'(port, ports = new Map()) {
    const client = new Cluster([{ host: '127.0.0.1', port }], { natMap: toAddresses(ports) })
    client.on('error', () => {})
    return { client, close: () => client.disconnect() }
  },
}

/** Connects a client of the kind with that name. */
export function connect(kind: string, port: number, ports?: ReadonlyMap<number, number>): Promise<TestClient> {
  const made = { ...CLIENTS, ...CLIENTS_WITH_LIMITS, ...CLUSTER_CLIENTS }[kind]?.(port, ports)
  if (made === undefined) throw new Error(`no client is called ${kind}`)
  return made
}

async function openPool(
  port: number,
  size: { minimum: number; maximum: number; acquireTimeout?: number },
  socket: { socketTimeout?: number; reconnectStrategy?: () => number } = {},
) {
  const client = createClientPool({ url: urlOf(port), socket }, size)
  client.on('error', () => {})
  await client.connect()
  return { client, close: () => client.destroy() }
}

function toAddresses(ports: ReadonlyMap<number, number>): Record<string, { host: string; port: number }> {
  return Object.fromEntries([...ports].map(([from, to]) => [`127.0.0.1:${from}`, { host: '127.0.0.1', port: to }]))
}

function urlOf(port: number): string {
  return `redis://127.0.0.1:${port}`
}

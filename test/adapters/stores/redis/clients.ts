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

/** Connects a client of node-redis. It gets no listener for errors, as in many apps: the store has to listen. */
export async function ofNodeRedis<C extends RedisClient & Connectable>(client: C): Promise<TestClient> {
  await client.connect()
  return { client, close: async () => void (await (client.destroy ?? client.disconnect)?.call(client)) }
}

interface Connectable {
  connect(): Promise<unknown>
  /** Since version 5. */
  destroy?(): unknown
  disconnect?(): unknown
}

export function ofIoRedis(client: Redis | Cluster): TestClient {
  client.on('error', () => {})
  return { client, close: () => client.disconnect() }
}

type ClientMaker = (port: number) => TestClient | Promise<TestClient>

/** Every kind of supported client, connected to the server on a port; the clients of a cluster are separate. */
export const CLIENTS: Readonly<Record<string, ClientMaker>> = {
  'node-redis': (port) => ofNodeRedis(createClient({ url: urlOf(port) })),
  'node-redis 4': (port) => ofNodeRedis(redis4.createClient({ url: urlOf(port) })),
  // A connection of a pool carries one call at a time, and a claim has 3 s: with 4 connections, the last of 100 calls waits for 25 round
  // trips, of 120 ms each on a slow machine. It is given up, and its release delays the next claims.
  'a pool of node-redis': (port) => openPool(port, { minimum: 32, maximum: 32, acquireTimeout: 60_000 }),
  async 'node-redis in RESP3 that gives bytes and numbers as text'(port) {
    const client = createClient({ url: urlOf(port), RESP: 3 })
    const { close } = await ofNodeRedis(client)
    const types = { [RESP_TYPES.BLOB_STRING]: Buffer, [RESP_TYPES.NUMBER]: String }
    return { client: client.withTypeMapping(types), close }
  },
  'node-redis in RESP2': (port) => ofNodeRedis(createClient({ url: urlOf(port), RESP: 2 })),
  ioredis: (port) => ofIoRedis(new Redis(port, '127.0.0.1')),
  'ioredis with a key prefix, numbers as text and automatic pipelines': (port) =>
    ofIoRedis(
      new Redis(port, '127.0.0.1', {
        keyPrefix: 'app:',
        stringNumbers: true,
        enableAutoPipelining: true,
        lazyConnect: true,
      }),
    ),
  'a bare sendCommand'(port) {
    const client = new Redis(port, '127.0.0.1')
    const sendCommand = ([name = '', ...words]: string[]) => client.call(name, ...words)
    return { client: { sendCommand }, close: ofIoRedis(client).close }
  },
}

/** Clients whose options make it matter that their connections fall silent. */
const CLIENTS_WITH_LIMITS: typeof CLIENTS = {
  // Not full of silent connections if a slow machine made several before they fell silent: it has no duplicate to go on with.
  'a growing pool of node-redis': (port) => openPool(port, { minimum: 1, maximum: 32, acquireTimeout: 60_000 }),
  'a pool of node-redis with one connection': (port) => openPool(port, { minimum: 1, maximum: 1 }),
  'a pool of node-redis with a socketTimeout': (port) =>
    openPool(port, { minimum: 1, maximum: 1 }, { socketTimeout: 4_000, reconnectStrategy: () => 100 }),
  'ioredis with a time limit of its own': (port) => ofIoRedis(new Redis(port, '127.0.0.1', { commandTimeout: 1_000 })),
}

/** `ports` maps the ports that the cluster announces to those at which it is reached. */
type ClusterMaker = (port: number, ports?: ReadonlyMap<number, number>) => TestClient | Promise<TestClient>

export const CLUSTER_CLIENTS: Readonly<Record<string, ClusterMaker>> = {
  'a cluster of node-redis': (port, ports = new Map()) =>
    ofNodeRedis(createCluster({ rootNodes: [{ url: urlOf(port) }], nodeAddressMap: toAddresses(ports) })),
  'a cluster of node-redis 4': (port, ports = new Map()) =>
    ofNodeRedis(redis4.createCluster({ rootNodes: [{ url: urlOf(port) }], nodeAddressMap: toAddresses(ports) })),
  'a cluster of ioredis': (port, ports = new Map()) =>
    ofIoRedis(new Cluster([{ host: '127.0.0.1', port }], { natMap: toAddresses(ports) })),
}

/** Connects a client of the kind with that name. */
export async function connect(kind: string, port: number, ports?: ReadonlyMap<number, number>): Promise<TestClient> {
  const made = { ...CLIENTS, ...CLIENTS_WITH_LIMITS, ...CLUSTER_CLIENTS }[kind]?.(port, ports)
  if (made === undefined) throw new Error(`no client is called ${kind}`)
  return made
}

function openPool(
  port: number,
  size: { minimum: number; maximum: number; acquireTimeout?: number },
  socket: { socketTimeout?: number; reconnectStrategy?: () => number } = {},
): Promise<TestClient> {
  return ofNodeRedis(createClientPool({ url: urlOf(port), socket }, size))
}

function toAddresses(ports: ReadonlyMap<number, number>): Record<string, { host: string; port: number }> {
  return Object.fromEntries([...ports].map(([from, to]) => [`127.0.0.1:${from}`, { host: '127.0.0.1', port: to }]))
}

function urlOf(port: number): string {
  return `redis://127.0.0.1:${port}`
}

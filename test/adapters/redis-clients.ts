import { Cluster, Redis } from 'ioredis'
import type { RedisClient } from 'postern/redis'
import { createClient, createClientPool, createCluster, RESP_TYPES } from 'redis'

/** A client under test, and how it is ended. */
export interface TestClient {
  readonly client: RedisClient
  close(): void | Promise<void>
}

/** Every kind of client that is supported, made for the server on a port; those for a cluster are apart. */
export const CLIENTS: Readonly<Record<string, (port: number) => Promise<TestClient>>> = {
  async 'node-redis'(port) {
    const client = createClient({ url: urlOf(port) })
    await client.connect()
    return { client, close: () => client.destroy() }
  },
  async 'a pool of node-redis'(port) {
    const client = createClientPool({ url: urlOf(port) }, { minimum: 1, maximum: 4 })
    await client.connect()
    return { client, close: () => client.destroy() }
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

export const CLUSTER_CLIENTS: Readonly<Record<string, (port: number) => Promise<TestClient>>> = {
  async 'a cluster of node-redis'(port) {
    const client = createCluster({ rootNodes: [{ url: urlOf(port) }] })
    client.on('error', () => {})
    await client.connect()
    return { client, close: () => client.destroy() }
  },
  async 'a cluster of ioredis'(port) {
    const client = new Cluster([{ host: '127.0.0.1', port }])
    client.on('error', () => {})
    return { client, close: () => client.disconnect() }
  },
}

function urlOf(port: number): string {
  return `redis://127.0.0.1:${port}`
}

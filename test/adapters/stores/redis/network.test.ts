import type { EventEmitter } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import type { Store } from 'postern'
import { type BareRedisClient, redisStore } from 'postern/redis'
import { silentLogger } from 'postern/testing'
import { createClient, createClientPool } from 'redis'
import * as redis4 from 'redis4'
import { describe, expect, it, type TestContext, vi } from 'vitest'
import { FaultyProxy } from '../../../engines/faulty-proxy.ts'
import { startCluster } from '../../../engines/redis-cluster.ts'
import { type RedisServer, redisProgram, startRedis } from '../../../engines/redis-server.ts'
import { untilClaimed } from '../../../store/until-claimed.ts'
import { CLIENTS, CLIENTS_WITH_LIMITS, CLUSTER_CLIENTS, type TestClient } from './clients.ts'

const LEASE_MS = 15_000

async function start({ onTestFinished }: TestContext): Promise<RedisServer> {
  const server = await startRedis()
  onTestFinished(() => server.remove())
  return server
}

/** Makes a store on a client that is closed with the test. */
async function openStore(making: Promise<TestClient> | undefined, { onTestFinished }: TestContext): Promise<Store> {
  const made = await making
  if (made === undefined) throw new Error('no client has this name')
  onTestFinished(async () => made.close())
  return redisStore({ client: made.client })
}

/** Makes a store whose connections go through a proxy, and another one without. */
async function open(kind: string, server: RedisServer, context: TestContext) {
  const proxy = new FaultyProxy(server.port)
  const make = { ...CLIENTS, ...CLIENTS_WITH_LIMITS }[kind]
  const store = await openStore(make?.(await proxy.listen()), context)
  context.onTestFinished(() => proxy.close())
  return { proxy, store, other: await openStore(make?.(server.port), context) }
}

/** Starts a cluster with a proxy before each of its nodes. */
async function startBehindProxies(context: TestContext) {
  const cluster = await startCluster()
  context.onTestFinished(() => cluster.remove())
  const proxies = await Promise.all(
    cluster.ports.map(async (port) => {
      const proxy = new FaultyProxy(port)
      context.onTestFinished(() => proxy.close())
      return { from: port, to: await proxy.listen(), proxy }
    }),
  )
  return { proxies, ports: new Map(proxies.map(({ from, to }) => [from, to])) }
}

const REAL = ['node-redis', 'node-redis 4', 'a pool of node-redis', 'ioredis']

/** Returns the warnings of a store. */
function warningsOf(store: Store): readonly string[] {
  const warnings: string[] = []
  store.reportTo?.({ ...silentLogger, warn: (_fields, message) => void warnings.push(message) })
  return warnings
}

/** Claims repeatedly, whatever the outcome. */
function keepClaiming(store: Store, everyMs: number, { onTestFinished }: TestContext) {
  const failures: string[] = []
  const claim = async () => store.claim('again', LEASE_MS)
  const timer = setInterval(() => claim().catch((error: unknown) => failures.push(String(error))), everyMs)
  const stop = () => clearInterval(timer)
  onTestFinished(stop)
  return { failures, stop }
}

/** Makes a client whose connections, and those of its duplicates, have a name. */
async function makeNamed(kind: string, port: number, name: string): Promise<TestClient> {
  const url = `redis://127.0.0.1:${port}`
  if (kind === 'ioredis') {
    const client = new Redis(url, { connectionName: name })
    client.on('error', () => {})
    return { client, close: () => client.disconnect() }
  }
  const ofNodeRedis = kind === 'node-redis 4' ? redis4.createClient({ url, name }) : createClient({ url, name })
  await ofNodeRedis.connect()
  return { client: ofNodeRedis, close: () => void ofNodeRedis.disconnect() }
}

async function countConnections(admin: Redis, name: string): Promise<number> {
  return String(await admin.client('LIST')).split(` name=${name} `).length - 1
}

/** Repeats a call until one is answered, each for at most 3 s, as receivers do. Returns the time that it took, in milliseconds. */
async function untilAnswered(call: () => unknown): Promise<number> {
  const began = performance.now()
  for (;;) {
    const answered = Promise.resolve(call()).then(
      () => true,
      () => false,
    )
    if (await Promise.race([answered, sleep(3_000, false)])) return performance.now() - began
    await sleep(100)
  }
}

describe.skipIf(redisProgram === undefined).concurrent.each(REAL)('the network between Redis and %s', (kind) => {
  it('that falls silent is noticed, and claims work again within 15 s', async (context) => {
    const { proxy, store } = await open(kind, await start(context), context)
    expect((await store.claim('a', LEASE_MS)).state).toBe('claimed')
    proxy.mute()
    expect(await untilClaimed(store, () => 'b')).toBeLessThan(15_000)
    const { token } = (await store.claim('c', LEASE_MS)) as { readonly token: string } // on the new connection
    expect(await store.complete('c', token)).toBe(true)
  })

  it('that falls silent while only a completion is under way is noticed', async (context) => {
    const { proxy, store, other } = await open(kind, await start(context), context)
    const { token } = (await store.claim('a', LEASE_MS)) as { readonly token: string } // no other client has it
    proxy.mute()
    expect(await untilAnswered(() => store.complete('a', token))).toBeLessThan(15_000)
    expect(await other.claim('a', LEASE_MS)).toEqual({ state: 'done' })
  })

  it('that leads to a demoted master is replaced by one to the new master', async (context) => {
    const [server, successor] = [await start(context), await start(context)]
    const { proxy, store } = await open(kind, server, context)
    expect((await store.claim('a', LEASE_MS)).state).toBe('claimed')
    await server.demote(successor.port)
    proxy.target = successor.port
    expect(await untilClaimed(store, () => 'b')).toBeLessThan(15_000)
  })

  it.skipIf(kind === 'a pool of node-redis')(
    'that leads to a replica may lose its duplicates repeatedly',
    {
      timeout: 60_000,
    },
    async (context) => {
      const [server, successor] = [await start(context), await start(context)]
      const { proxy, store } = await open(kind, server, context)
      const admin = new Redis(successor.port)
      context.onTestFinished(() => admin.disconnect())
      expect((await store.claim('a', LEASE_MS)).state).toBe('claimed')
      await server.demote(successor.port)
      proxy.target = successor.port
      for (let round = 0; round < 5; round++) {
        expect(await untilClaimed(store, () => `b ${round}`), `round ${round}`).toBeLessThan(6_000)
        await admin.call('CLIENT', 'KILL', 'TYPE', 'normal')
      }
    },
  )

  it('that loses the answer to a claim does not keep its event busy', async (context) => {
    const { proxy, store, other } = await open(kind, await start(context), context)
    expect((await store.claim('a', LEASE_MS)).state).toBe('claimed')
    proxy.cutAt = { text: 'postern:lost', isForwarded: true }
    const claim = await Promise.resolve(store.claim('lost', LEASE_MS)).catch(() => undefined)
    if (claim?.state === 'claimed') return // the client sent it again by itself, with the same token
    expect(await untilClaimed(other, () => 'lost')).toBeLessThan(6_000)
  })
})

describe.skipIf(redisProgram === undefined).concurrent('a client that is silent', () => {
  it.for(['ioredis with a time limit of its own', 'a pool of node-redis with a socketTimeout'])(
    'is noticed even if its calls fail by themselves: %s',
    { timeout: 60_000 },
    async (kind, context) => {
      const { proxy, store } = await open(kind, await start(context), context)
      expect((await store.claim('a', LEASE_MS)).state).toBe('claimed')
      proxy.mute()
      expect(await untilClaimed(store, () => 'b')).toBeLessThan(15_000)
    },
  )

  it('is reported if its connections cannot be replaced', async (context) => {
    const { proxy, store } = await open('a pool of node-redis with one connection', await start(context), context)
    const warnings = warningsOf(store)
    await store.claim('a', LEASE_MS)
    proxy.mute()
    keepClaiming(store, 500, context)
    await vi.waitFor(() => expect(warnings).toEqual([expect.stringMatching(/socketTimeout/)]), 60_000)
  })

  it('is replaced even if a new connection falls silent in its handshake', async (context) => {
    const [server, successor] = [await start(context), await start(context)]
    const { proxy, store } = await open('node-redis', server, context)
    expect((await store.claim('a', LEASE_MS)).state).toBe('claimed')
    await server.demote(successor.port)
    proxy.target = successor.port
    proxy.muteAt = 'CLIENT'
    expect(await untilClaimed(store, () => 'b')).toBeLessThan(20_000)
  })

  it('keeps its replies, and its other connections close with it', {
    timeout: 90_000,
  }, async (context) => {
    const [server, successor] = [await start(context), await start(context)]
    const [client, admin] = [createClient({ url: server.url, name: 'shared' }), new Redis(server.port, '127.0.0.1')]
    client.on('error', () => {})
    await client.connect()
    context.onTestFinished(() => admin.disconnect())
    const store = redisStore({ client })
    await store.claim('a', LEASE_MS)
    await server.demote(successor.port)
    await expect(store.claim('b', LEASE_MS)).rejects.toThrow()
    server.freeze()
    const { stop } = keepClaiming(store, 100, context)
    await sleep(14_000)
    stop()
    server.thaw()
    await admin.replicaof('NO', 'ONE')
    expect(await untilClaimed(store, () => 'd')).toBeLessThan(15_000)
    const echoes = Array.from({ length: 200 }, (_, index) => `echo ${index}`)
    expect(await Promise.all(echoes.map((each) => client.echo(each)))).toEqual(echoes)
    client.destroy()
    await vi.waitFor(async () => expect(await countConnections(admin, 'shared')).toBe(0), 60_000)
  })

  it.for(['node-redis', 'node-redis 4', 'ioredis'])(
    'is not touched, and the duplicate ends when the app closes it: %s',
    { timeout: 60_000 },
    async (kind, context) => {
      const server = await start(context)
      const [proxy, admin] = [new FaultyProxy(server.port), new Redis(server.port, '127.0.0.1')]
      const { client, close } = await makeNamed(kind, await proxy.listen(), 'shared')
      context.onTestFinished(() => {
        void proxy.close()
        admin.disconnect()
      })
      const store = redisStore({ client })
      await store.claim('a', LEASE_MS)
      const events: string[] = []
      for (const event of ['end', 'close', 'reconnecting', 'connect'])
        (client as unknown as EventEmitter).on(event, () => events.push(event)) // each kind is one
      const warnings = warningsOf(store)
      proxy.mute()
      expect(await untilClaimed(store, () => 'b')).toBeLessThan(15_000)
      expect(events).toEqual([])
      expect(warnings).toEqual([expect.stringMatching(/a duplicate of the client/)])
      await close()
      proxy.closeMuted()
      await vi.waitFor(async () => expect(await countConnections(admin, 'shared')).toBe(0), 60_000)
      await expect(store.claim('c', LEASE_MS)).rejects.toThrow()
    },
  )

  it('is followed by the duplicate if it is closed between two attempts to connect', {
    timeout: 60_000,
  }, async (context) => {
    const server = await start(context)
    const proxy = new FaultyProxy(server.port)
    context.onTestFinished(() => proxy.close())
    const client = new Redis(await proxy.listen(), '127.0.0.1', { retryStrategy: () => 60_000 })
    client.on('error', () => {})
    const store = redisStore({ client })
    await store.claim('a', LEASE_MS)
    proxy.mute()
    expect(await untilClaimed(store, () => 'b')).toBeLessThan(15_000)
    proxy.closeMuted()
    await vi.waitFor(() => expect(client.status).toBe('reconnecting'), 60_000)
    expect(proxy.held).toBe(1)
    client.disconnect()
    await vi.waitFor(() => expect(proxy.held).toBe(0), 60_000)
  })

  it.for(['node-redis', 'node-redis 4', 'ioredis'])(
    'is replaced in the database that the app selected: %s',
    { timeout: 60_000 },
    async (kind, context) => {
      const server = await start(context)
      const proxy = new FaultyProxy(server.port)
      const { client, close } = await makeNamed(kind, await proxy.listen(), 'shared')
      context.onTestFinished(async () => {
        await close()
        await proxy.close()
      })
      await (client as unknown as Redis).select(3) // all kinds have it
      const store = redisStore({ client })
      expect(await store.claim('a', LEASE_MS)).toMatchObject({ state: 'claimed' })
      await sleep(500) // it learns the client's database
      proxy.mute()
      expect(await untilClaimed(store, () => 'b')).toBeLessThan(15_000)
      expect(await store.claim('a', LEASE_MS)).toEqual({ state: 'busy' })
    },
  )

  it('is reported by READONLY if it is a pool', async (context) => {
    const [server, successor] = [await start(context), await start(context)]
    const client = createClientPool({ url: server.url }, { minimum: 1, maximum: 1 })
    client.on('error', () => {})
    await client.connect()
    context.onTestFinished(() => void client.destroy())
    const store = redisStore({ client })
    const warnings = warningsOf(store)
    await store.claim('a', LEASE_MS)
    await server.demote(successor.port)
    for (let count = 0; count < 20; count++) {
      await expect(store.claim('b', LEASE_MS)).rejects.toThrow(/READONLY/)
      await sleep(50)
    }
    expect(warnings).toEqual([expect.stringMatching(/cannot be duplicated/)])
  })

  it.for(['node-redis', 'ioredis'])(
    'keeps its connection while writes are paused: %s',
    { timeout: 60_000 },
    async (kind, context) => {
      const server = await start(context)
      const admin = new Redis(server.port, '127.0.0.1')
      context.onTestFinished(() => admin.disconnect())
      const store = await openStore(CLIENTS[kind]?.(server.port), context)
      const warnings = warningsOf(store)
      await store.claim('a', LEASE_MS)
      await admin.call('CLIENT', 'PAUSE', '12000', 'WRITE')
      keepClaiming(store, 250, context)
      await sleep(13_000)
      expect(await untilClaimed(store, () => 'c')).toBeLessThan(5_000)
      expect(warnings).toEqual([])
    },
  )

  it('refuses claims while its calls fail by its own time limit', async (context) => {
    const server = await start(context)
    const client = new Redis(server.port, '127.0.0.1', { commandTimeout: 1_000 })
    client.on('error', () => {})
    context.onTestFinished(() => client.disconnect())
    const store = redisStore({ client })
    await store.claim('a', LEASE_MS)
    server.freeze()
    const { failures, stop } = keepClaiming(store, 20, context)
    await sleep(8_000)
    stop()
    server.thaw()
    expect(failures.filter((failure) => failure.includes('has not answered')).length).toBeGreaterThan(20)
    expect(await untilClaimed(store, () => 'c')).toBeLessThan(5_000)
  })

  it('leaves no connection behind even if the socket of a duplicate takes 8 s to open', {
    timeout: 90_000,
  }, async (context) => {
    const server = await start(context)
    const proxy = new FaultyProxy(server.port)
    const port = await proxy.listen()
    context.onTestFinished(() => proxy.close())
    let looked = -1 // the first one is that of the app
    const lookup = (_host: string, _options: object, found: (error: null, addresses: object[]) => void) => {
      const delayMs = ++looked === 1 ? 8_000 : 0
      setTimeout(() => found(null, [{ address: '127.0.0.1', family: 4 }]), delayMs)
    }
    const socket = { host: 'localhost', port, lookup, connectTimeout: 20_000 }
    const client = createClient({ name: 'shared', socket: socket as object })
    const admin = new Redis(server.port, '127.0.0.1')
    client.on('error', () => {})
    await client.connect()
    context.onTestFinished(() => admin.disconnect())
    const store = redisStore({ client })
    await store.claim('a', LEASE_MS)
    proxy.mute()
    let number = 0
    expect(await untilClaimed(store, () => `b ${number++}`)).toBeLessThan(35_000)
    proxy.closeMuted()
    await sleep(5_000) // all late answers have arrived
    expect(await countConnections(admin, 'shared')).toBe(2) // the client has connected by itself
    client.destroy()
    await vi.waitFor(async () => expect(await countConnections(admin, 'shared')).toBe(0), 60_000)
  })

  it.for(['node-redis', 'ioredis', 'ioredis with a time limit of its own'])(
    'does not bring back a released claim by a renewal that waited: %s',
    { timeout: 60_000 },
    async (kind, context) => {
      const server = await start(context)
      const [made, admin] = [await { ...CLIENTS, ...CLIENTS_WITH_LIMITS }[kind]?.(server.port), new Redis(server.port)]
      const { client, close } = made as TestClient // it is one of the list
      context.onTestFinished(async () => {
        await close()
        admin.disconnect()
      })
      const store = redisStore({ client })
      const { token } = (await store.claim('a', LEASE_MS)) as { readonly token: string } // no other client has it
      const words = ['BLPOP', 'jobs', '0'] as const
      const blocked =
        'evalsha' in client ? (client as Redis).call(...words) : (client as BareRedisClient).sendCommand([...words])
      blocked.catch(() => {}) // by a time limit
      const renewing = store.renew('a', token, 300_000, [])
      Promise.resolve(renewing).catch(() => {})
      expect(await untilClaimed(store, () => 'b')).toBeLessThan(15_000)
      expect(await store.release('a', token, [])).toBe(true)
      await admin.lpush('jobs', 'one')
      await sleep(1_000) // the renewal was processed
      expect(await store.claim('a', LEASE_MS)).toMatchObject({ state: 'claimed' })
    },
  )

  it('stays closed if the app closes it while a duplicate is probed', async (context) => {
    const [server, successor] = [await start(context), await start(context)]
    const client = createClient({ url: server.url })
    client.on('error', () => {})
    await client.connect()
    const store = redisStore({ client })
    await store.claim('a', LEASE_MS)
    await server.demote(successor.port)
    await expect(store.claim('b', LEASE_MS)).rejects.toThrow()
    server.freeze()
    await sleep(300)
    client.destroy()
    server.thaw()
    for (let count = 0; count < 8; count++) {
      await expect(store.claim('b', LEASE_MS)).rejects.toThrow()
      await sleep(500)
    }
    expect(client.isOpen).toBe(false)
  })

  it('keeps its connection if the server answers again', async (context) => {
    const server = await start(context)
    const client = createClient({ url: server.url })
    client.on('error', () => {})
    await client.connect()
    context.onTestFinished(() => client.destroy())
    let connected = 0
    client.on('ready', () => connected++)
    const store = redisStore({ client })
    await store.claim('a', LEASE_MS)
    server.freeze()
    const { stop } = keepClaiming(store, 50, context)
    await sleep(4_500)
    server.thaw()
    await sleep(4_000)
    stop()
    expect(connected).toBe(0)
    expect(await untilClaimed(store, () => 'c')).toBeLessThan(1_000)
  })
})

describe.skipIf(redisProgram === undefined).concurrent.each(Object.keys(CLUSTER_CLIENTS))('%s', (kind) => {
  it('continues with the replica of a master that was killed', async (context) => {
    const cluster = await startCluster({ hasReplicas: true })
    context.onTestFinished(() => cluster.remove())
    const store = await openStore(CLUSTER_CLIENTS[kind]?.(cluster.port), context)
    const keys = Array.from({ length: 30 }, (_, index) => `key ${index}`)
    for (const key of keys) {
      const { token } = (await store.claim(key, LEASE_MS)) as { readonly token: string } // no other client has it
      expect(await store.complete(key, token)).toBe(true)
    }
    await cluster.killMaster(1)
    let number = 0
    const claimAll = () => Promise.all(keys.map(async () => store.claim(`new ${number++}`, LEASE_MS)))
    expect(await untilAnswered(claimAll)).toBeLessThan(30_000)
    for (const key of keys) expect(await store.claim(key, LEASE_MS)).toEqual({ state: 'done' })
  })

  // A cluster of node-redis 4 accepts no signal for its sockets.
  it.skipIf(kind === 'a cluster of node-redis 4')(
    'leaves no connection behind if new ones are silent too when it is closed',
    {
      timeout: 90_000,
    },
    async (context) => {
      const { proxies, ports } = await startBehindProxies(context)
      const made = await CLUSTER_CLIENTS[kind]?.(proxies[0]?.to ?? 0, ports)
      if (made === undefined) throw new Error('no client has this name')
      const store = redisStore({ client: made.client })
      await store.claim('a', LEASE_MS)
      for (const { proxy } of proxies) {
        proxy.mute()
        proxy.isMuteForNew = true
      }
      keepClaiming(store, 250, context)
      const held = () => proxies.reduce((sum, { proxy }) => sum + proxy.held, 0)
      const before = held()
      await vi.waitFor(() => expect(held()).toBeGreaterThan(before), 60_000)
      await made.close()
      await vi.waitFor(() => expect(held()).toBe(0), 60_000)
    },
  )

  it('is replaced if one connection to a master is silent', async (context) => {
    const { proxies, ports } = await startBehindProxies(context)
    const made = await CLUSTER_CLIENTS[kind]?.(proxies[0]?.to ?? 0, ports)
    if (made === undefined) throw new Error('no client has this name')
    const store = redisStore({ client: made.client })
    const keys = Array.from({ length: 30 }, (_, index) => `key ${index}`)
    for (const key of keys) expect(await store.claim(key, LEASE_MS)).toMatchObject({ state: 'claimed' })
    proxies[1]?.proxy.mute()
    let number = 0
    const claimAll = () => Promise.all(keys.map(async () => store.claim(`new ${number++}`, LEASE_MS)))
    expect(await untilAnswered(claimAll)).toBeLessThan(20_000)
    await made.close()
    const held = () => proxies.reduce((sum, { proxy }) => sum + proxy.held, 0)
    await vi.waitFor(() => expect(held()).toBe(0), 60_000)
  })
})

import { fork } from 'node:child_process'
import { type EventEmitter, once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import type { Claim, Store } from 'postern'
import { type BareRedisClient, redisStore } from 'postern/redis'
import { silentLogger } from 'postern/testing'
import { createClient } from 'redis'
import * as redis4 from 'redis4'
import { describe, expect, it, type TestContext, vi } from 'vitest'
import { FaultyProxy } from '../../../engines/faulty-proxy.ts'
import { startCluster } from '../../../engines/redis-cluster.ts'
import { type RedisServer, redisProgram, startRedis } from '../../../engines/redis-server.ts'
import { untilClaimed } from '../../../store/until-claimed.ts'
import { bundle } from '../../../support/bundle.ts'
import { CLUSTER_CLIENTS, connect, ofIoRedis, ofNodeRedis, type TestClient } from './clients.ts'

/** Longer than any test runs, so that no claim becomes free by itself. */
const LEASE_MS = 600_000
const LEAVER = fileURLToPath(new URL('leaver.ts', import.meta.url))
const LIMIT = { timeout: 120_000 }

async function start({ onTestFinished }: TestContext): Promise<RedisServer> {
  const server = await startRedis()
  onTestFinished(() => server.remove())
  return server
}

/** Makes a store on a client that is closed with the test. */
async function openStore(connecting: Promise<TestClient>, { onTestFinished }: TestContext): Promise<Store> {
  const { client, close } = await connecting
  onTestFinished(async () => close())
  return redisStore({ client })
}

/** Makes a store whose connections go through a proxy, and another one without. */
async function open(kind: string, server: RedisServer, context: TestContext) {
  const proxy = new FaultyProxy(server.port)
  const store = await openStore(connect(kind, await proxy.listen()), context)
  context.onTestFinished(() => proxy.close())
  return { proxy, store, other: await openStore(connect(kind, server.port), context) }
}

/** Demotes the server of a store that has claimed. New connections lead to the new master. */
async function openDemoted(kind: string, context: TestContext) {
  const [server, successor] = [await start(context), await start(context)]
  const { proxy, store } = await open(kind, server, context)
  await untilClaimed(store, () => 'a')
  await server.demote(successor.port)
  proxy.target = successor.port
  return { successor, proxy, store }
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

const REAL = ['node-redis', 'node-redis 4', 'a growing pool of node-redis', 'ioredis']

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
  if (kind === 'ioredis') return ofIoRedis(new Redis(url, { connectionName: name }))
  return ofNodeRedis(kind === 'node-redis 4' ? redis4.createClient({ url, name }) : createClient({ url, name }))
}

/** Opens a client of node-redis through a proxy, and one of the test. */
async function openNamed(server: RedisServer, { onTestFinished }: TestContext) {
  const [proxy, admin] = [new FaultyProxy(server.port), new Redis(server.port, '127.0.0.1')]
  const client = createClient({ url: `redis://127.0.0.1:${await proxy.listen()}` })
  client.on('error', () => {})
  await client.connect()
  onTestFinished(() => {
    if (client.isOpen) client.destroy()
    admin.disconnect()
    proxy.close()
  })
  return { client, admin, proxy }
}

async function countConnections(admin: Redis, name: string): Promise<number> {
  return String(await admin.client('LIST')).split(` name=${name} `).length - 1
}

/** Repeats a call until one is answered, each for at most 3 s, as receivers do. */
async function untilAnswered(call: () => unknown): Promise<void> {
  for (;;) {
    const answered = Promise.resolve(call()).then(
      () => true,
      () => false,
    )
    if (await Promise.race([answered, sleep(3_000, false)])) return
    await sleep(100)
  }
}

describe.skipIf(redisProgram === undefined).concurrent.each(REAL)('the network between Redis and %s', (kind) => {
  it('that falls silent is noticed, and claims work again within 15 s', async (context) => {
    const { proxy, store } = await open(kind, await start(context), context)
    await untilClaimed(store, () => 'a')
    proxy.mute()
    await untilClaimed(store, () => 'b')
    const { token } = await untilClaimed(store, () => 'c')
    // A busy machine may open the new connection too late for this call. Receivers repeat it.
    await untilAnswered(() => store.complete('c', token))
    expect(await store.claim('c', LEASE_MS)).toEqual({ state: 'done' })
  })

  it('that leads to a demoted master is replaced by one to the new master', async (context) => {
    const { store } = await openDemoted(kind, context)
    await untilClaimed(store, () => 'b')
  })

  it.skipIf(kind === 'a growing pool of node-redis')(
    'that leads to a replica may lose its duplicates repeatedly',
    async (context) => {
      const { successor, store } = await openDemoted(kind, context)
      const admin = new Redis(successor.port)
      context.onTestFinished(() => admin.disconnect())
      for (let round = 0; round < 5; round++) {
        await untilClaimed(store, () => `b ${round}`)
        await admin.call('CLIENT', 'KILL', 'TYPE', 'normal')
      }
    },
  )

  it('that loses the answer to a claim does not keep its event busy', async (context) => {
    const { proxy, store, other } = await open(kind, await start(context), context)
    await untilClaimed(store, () => 'a')
    proxy.cutAt = { text: 'postern:lost', isForwarded: true }
    const claim = await Promise.resolve(store.claim('lost', LEASE_MS)).catch(() => undefined)
    if (claim?.state === 'claimed') return // the client sent it again by itself, with the same token
    await untilClaimed(other, () => 'lost')
  })
})

describe.skipIf(redisProgram === undefined).concurrent('a client that is silent', () => {
  it('is noticed while only a completion is under way', async (context) => {
    const { proxy, store, other } = await open('node-redis', await start(context), context)
    const { token } = await untilClaimed(store, () => 'a')
    proxy.mute()
    await untilAnswered(() => store.complete('a', token))
    expect(await other.claim('a', LEASE_MS)).toEqual({ state: 'done' })
  })

  it.for(['ioredis with a time limit of its own', 'a pool of node-redis with a socketTimeout'])(
    'is noticed even if its calls fail by themselves: %s',
    async (kind, context) => {
      const { proxy, store } = await open(kind, await start(context), context)
      await untilClaimed(store, () => 'a')
      proxy.mute()
      await untilClaimed(store, () => 'b')
    },
  )

  it('is reported if its connections cannot be replaced', async (context) => {
    const { proxy, store } = await open('a pool of node-redis with one connection', await start(context), context)
    const warnings = warningsOf(store)
    await untilClaimed(store, () => 'a')
    proxy.mute()
    keepClaiming(store, 500, context)
    await vi.waitFor(() => expect(warnings).toEqual([expect.stringMatching(/socketTimeout/)]), LIMIT)
  })

  it('is replaced even if a new connection falls silent in its handshake', async (context) => {
    const { proxy, store } = await openDemoted('node-redis', context)
    proxy.muteAt = 'CLIENT'
    await untilClaimed(store, () => 'b')
  })

  it('keeps its replies, and its other connections close with it', async (context) => {
    const [server, successor] = [await start(context), await start(context)]
    const { client, admin, proxy } = await openNamed(server, context)
    const store = redisStore({ client })
    await untilClaimed(store, () => 'a')
    await server.demote(successor.port)
    await expect(store.claim('b', LEASE_MS)).rejects.toThrow()
    server.freeze()
    const { stop } = keepClaiming(store, 100, context)
    // A duplicate was opened, and was closed without an answer.
    await vi.waitFor(() => expect(proxy.held).toBeGreaterThan(1), LIMIT)
    await vi.waitFor(() => expect(proxy.held).toBe(1), LIMIT)
    stop()
    server.thaw()
    await admin.replicaof('NO', 'ONE')
    await untilClaimed(store, () => 'd')
    const echoes = Array.from({ length: 200 }, (_, index) => `echo ${index}`)
    expect(await Promise.all(echoes.map((each) => client.echo(each)))).toEqual(echoes)
    client.destroy()
    await vi.waitFor(() => expect(proxy.held).toBe(0), LIMIT)
  })

  it.for(['node-redis', 'node-redis 4', 'ioredis'])(
    'is not touched, and the duplicate ends when the app closes it: %s',
    async (kind, context) => {
      const server = await start(context)
      const [proxy, admin] = [new FaultyProxy(server.port), new Redis(server.port, '127.0.0.1')]
      const { client, close } = await makeNamed(kind, await proxy.listen(), 'shared')
      context.onTestFinished(() => {
        void proxy.close()
        admin.disconnect()
      })
      const store = redisStore({ client })
      await untilClaimed(store, () => 'a')
      const events: string[] = []
      for (const event of ['end', 'close', 'reconnecting', 'connect'])
        (client as unknown as EventEmitter).on(event, () => events.push(event)) // each kind is one
      const warnings = warningsOf(store)
      proxy.mute()
      await untilClaimed(store, () => 'b')
      expect(events).toEqual([])
      expect(warnings).toEqual([expect.stringMatching(/a duplicate of the client/)])
      await close()
      proxy.closeMuted()
      await vi.waitFor(async () => expect(await countConnections(admin, 'shared')).toBe(0), LIMIT)
      await expect(store.claim('c', LEASE_MS)).rejects.toThrow()
    },
  )

  it.for(['node-redis', 'node-redis 4', 'ioredis'])(
    'is replaced in the database that the app selected: %s',
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
      await untilClaimed(store, () => 'a')
      for (const key of ['b', 'c']) await untilClaimed(store, () => key) // behind its question for the client's database
      proxy.mute()
      await untilClaimed(store, () => 'd')
      expect(await store.claim('a', LEASE_MS)).toEqual({ state: 'busy' })
    },
  )

  it.for(['node-redis', 'node-redis 4', 'ioredis'])(
    'lets its process end, as does the duplicate: %s',
    async (kind, context) => {
      const proxy = new FaultyProxy((await start(context)).port)
      const child = fork(await bundle(LEAVER), {
        env: { ...process.env, CLIENT: kind, PORT: String(await proxy.listen()) },
      })
      context.onTestFinished(() => {
        child.kill('SIGKILL')
        proxy.close()
      })
      expect(await once(child, 'message')).toEqual(['claimed', undefined])
      proxy.mute()
      child.send('go')
      expect(await once(child, 'message')).toEqual(['done', undefined])
      expect(await once(child, 'exit')).toEqual([0, null])
    },
  )

  it('keeps its connection while writes are paused', async (context) => {
    const { client, admin, proxy } = await openNamed(await start(context), context)
    const store = redisStore({ client })
    const warnings = warningsOf(store)
    await untilClaimed(store, () => 'a')
    await admin.call('CLIENT', 'PAUSE', '600000', 'WRITE')
    keepClaiming(store, 250, context)
    await vi.waitFor(() => expect(proxy.held).toBeGreaterThan(1), LIMIT)
    await vi.waitFor(() => expect(proxy.held).toBe(1), LIMIT) // the duplicate had no answer either
    await admin.call('CLIENT', 'UNPAUSE')
    await untilClaimed(store, () => 'c')
    expect(warnings).toEqual([])
  })

  it('refuses claims while its calls fail by its own time limit', async (context) => {
    const server = await start(context)
    const client = new Redis(server.port, '127.0.0.1', { commandTimeout: 1_000 })
    client.on('error', () => {})
    context.onTestFinished(() => client.disconnect())
    const store = redisStore({ client })
    await untilClaimed(store, () => 'a')
    server.freeze()
    const { failures, stop } = keepClaiming(store, 20, context)
    const refused = () => failures.filter((failure) => failure.includes('has not answered'))
    await vi.waitFor(() => expect(refused().length).toBeGreaterThan(20), LIMIT)
    stop()
    server.thaw()
    await untilClaimed(store, () => 'c')
  })

  it.for(['node-redis', 'ioredis', 'ioredis with a time limit of its own'])(
    'does not bring back a released claim by a renewal that waited: %s',
    async (kind, context) => {
      const server = await start(context)
      const [{ client, close }, admin] = [await connect(kind, server.port), new Redis(server.port)]
      context.onTestFinished(async () => {
        await close()
        admin.disconnect()
      })
      const store = redisStore({ client })
      const { token } = await untilClaimed(store, () => 'a')
      const send = (name: string, ...words: string[]) =>
        'evalsha' in client
          ? (client as Redis).call(name, ...words)
          : (client as BareRedisClient).sendCommand([name, ...words])
      send('BLPOP', 'jobs', '0').catch(() => {}) // by a time limit
      const renewing = store.renew('a', token, 300_000, [])
      Promise.resolve(renewing).catch(() => {})
      await untilClaimed(store, () => 'b')
      expect(await store.release('a', token, [])).toBe(true)
      await admin.lpush('jobs', 'one')
      await send('PING') // behind the renewal
      await untilClaimed(store, () => 'a')
    },
  )
})

describe.skipIf(redisProgram === undefined).concurrent.each(Object.keys(CLUSTER_CLIENTS))('%s', (kind) => {
  it('continues with the replica of a master that was killed', async (context) => {
    const cluster = await startCluster({ hasReplicas: true })
    context.onTestFinished(() => cluster.remove())
    const store = await openStore(connect(kind, cluster.port), context)
    const keys = Array.from({ length: 30 }, (_, index) => `key ${index}`)
    for (const key of keys) {
      const { token } = await untilClaimed(store, () => key)
      expect(await store.complete(key, token)).toBe(true)
    }
    await cluster.killMaster(1)
    let number = 0
    const claimAll = () => Promise.all(keys.map(async () => store.claim(`new ${number++}`, LEASE_MS)))
    await untilAnswered(claimAll)
    const states = new Map<string, Claim>()
    for (const key of keys) await untilAnswered(async () => states.set(key, await store.claim(key, LEASE_MS)))
    for (const key of keys) expect(states.get(key)).toEqual({ state: 'done' })
  })

  // A cluster of node-redis 4 accepts no signal for its sockets.
  it.skipIf(kind === 'a cluster of node-redis 4')(
    'leaves no connection behind if new ones are silent too when it is closed',
    async (context) => {
      const { proxies, ports } = await startBehindProxies(context)
      const made = await connect(kind, proxies[0]?.to ?? 0, ports)
      const store = redisStore({ client: made.client })
      await untilClaimed(store, () => 'a')
      for (const { proxy } of proxies) {
        proxy.mute()
        proxy.isMuteForNew = true
      }
      keepClaiming(store, 250, context)
      const held = () => proxies.reduce((sum, { proxy }) => sum + proxy.held, 0)
      const before = held()
      await vi.waitFor(() => expect(held()).toBeGreaterThan(before), LIMIT)
      await made.close()
      await vi.waitFor(() => expect(held()).toBe(0), LIMIT)
    },
  )

  it('is replaced if one connection to a master is silent', async (context) => {
    const { proxies, ports } = await startBehindProxies(context)
    const made = await connect(kind, proxies[0]?.to ?? 0, ports)
    const store = redisStore({ client: made.client })
    const keys = Array.from({ length: 30 }, (_, index) => `key ${index}`)
    for (const key of keys) await untilClaimed(store, () => key)
    proxies[1]?.proxy.mute()
    let number = 0
    const claimAll = () => Promise.all(keys.map(async () => store.claim(`new ${number++}`, LEASE_MS)))
    await untilAnswered(claimAll)
    await made.close()
    const held = () => proxies.reduce((sum, { proxy }) => sum + proxy.held, 0)
    await vi.waitFor(() => expect(held()).toBe(0), LIMIT)
  })
})

import { redisStore } from 'postern/redis'
import { describe, expect, it, type TestContext } from 'vitest'
import { FaultyProxy } from '../engines/faulty-proxy.ts'
import { type RedisServer, redisProgram, startRedis } from '../engines/redis-server.ts'
import { untilClaimed } from '../store/until-claimed.ts'
import { CLIENTS } from './redis-clients.ts'

const LEASE_MS = 15_000

async function start({ onTestFinished }: TestContext): Promise<RedisServer> {
  const server = await startRedis()
  onTestFinished(() => server.remove())
  return server
}

/** A store whose connections go through a proxy, and one beside it. */
async function open(kind: string, server: RedisServer, { onTestFinished }: TestContext) {
  const proxy = new FaultyProxy(server.port)
  const connect = async (port: number) => {
    const client = await CLIENTS[kind]?.(port)
    if (client === undefined) throw new Error(`no client is called ${kind}`)
    onTestFinished(async () => client.close())
    return redisStore({ client: client.client })
  }
  const store = await connect(await proxy.listen())
  onTestFinished(() => proxy.close())
  return { proxy, store, other: await connect(server.port) }
}

const REAL = ['node-redis', 'a pool of node-redis', 'ioredis']

describe.skipIf(redisProgram === undefined).concurrent.each(REAL)('the network between Redis and %s', (kind) => {
  it('that falls silent is noticed, and claims work again within 15 s', { timeout: 60_000 }, async (context) => {
    const { proxy, store } = await open(kind, await start(context), context)
    expect((await store.claim('a', LEASE_MS)).state).toBe('claimed')
    proxy.mute()
    expect(await untilClaimed(store, () => 'b')).toBeLessThan(15_000)
    const { token } = (await store.claim('c', LEASE_MS)) as { readonly token: string } // the connection is new
    expect(await store.complete('c', token)).toBe(true)
  })

  it('that leads to a master which was demoted is left for the new one', { timeout: 60_000 }, async (context) => {
    const [server, successor] = [await start(context), await start(context)]
    const { proxy, store } = await open(kind, server, context)
    expect((await store.claim('a', LEASE_MS)).state).toBe('claimed')
    await server.demote(successor.port)
    proxy.target = successor.port
    expect(await untilClaimed(store, () => 'b')).toBeLessThan(15_000)
  })

  it('that loses the answer to a claim does not keep its event busy', { timeout: 60_000 }, async (context) => {
    const { proxy, store, other } = await open(kind, await start(context), context)
    expect((await store.claim('a', LEASE_MS)).state).toBe('claimed')
    proxy.cutAt = { text: 'postern:lost', isForwarded: true }
    const claim = await Promise.resolve(store.claim('lost', LEASE_MS)).catch(() => undefined)
    if (claim?.state === 'claimed') return // the client sent it again by itself, with the same token
    expect(await untilClaimed(other, () => 'lost')).toBeLessThan(6_000)
  })
})

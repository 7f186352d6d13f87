import { Redis } from 'ioredis'
import type { Logger, Store } from 'postern'
import { type RedisStoreOptions, redisStore } from 'postern/redis'
import { silentLogger, storeSuite } from 'postern/testing'
import { createClient } from 'redis'
import { afterAll, describe, expect, it, type TestContext } from 'vitest'
import { type RedisServer, redisProgram, startRedis } from '../../../engines/redis-server.ts'
import { serverFor } from '../../../engines/server-for.ts'
import { untilClaimed } from '../../../store/until-claimed.ts'
import { connect, keepClients } from './clients.ts'

/** Longer than any test runs, so that no claim becomes free by itself. */
const LEASE_MS = 600_000

function recordingLogger(): Logger & { readonly warnings: string[] } {
  const warnings: string[] = []
  return { ...silentLogger, warnings, warn: (_fields, message) => void warnings.push(message) }
}

describe.skipIf(redisProgram === undefined)('a store on Redis', () => {
  const server = serverFor(() => startRedis())
  const keep = keepClients()
  const makeStore = async (kind: string, options: Omit<RedisStoreOptions, 'client'> = {}): Promise<Store> =>
    redisStore({ client: keep(await connect(kind, server().port)).client, ...options })
  const take = (store: Store, key: string) => untilClaimed(store, () => key)

  describe.each(['node-redis', 'ioredis'])('by %s', (kind) => {
    const outage =
      kind === 'ioredis'
        ? { begin: () => server().freeze(), end: () => server().thaw() }
        : { begin: () => server().kill('SIGKILL'), end: () => server().start() }
    for (const { name, takesEngineAway, run } of storeSuite((options) => makeStore(kind, options), { outage }))
      if (takesEngineAway) it(name, run)

    it('answers every call while its scripts are flushed repeatedly', async () => {
      const [store, admin] = [await makeStore(kind), new Redis(server().port, '127.0.0.1')]
      let isOver = false
      const flush = async () => {
        while (!isOver) await admin.script('FLUSH')
      }
      const flushing = flush()
      const work = async (key: string) => {
        const { token } = await take(store, key)
        expect(await store.renew(key, token, LEASE_MS, ['a'])).toBe(true)
        expect(await store.release(key, token, ['b'])).toBe(true)
        const again = await take(store, key)
        expect([...again.marks].sort()).toEqual(['a', 'b'])
        expect(await store.complete(key, again.token)).toBe(true)
        expect(await store.claim(key, LEASE_MS)).toEqual({ state: 'done' })
      }
      await Promise.all(Array.from({ length: 200 }, (_, index) => work(`${kind}-flush-${index}`)))
      isOver = true
      await flushing
      admin.disconnect()
    })

    it('needs one round trip for a claim', async () => {
      const [store, admin] = [await makeStore(kind), new Redis(server().port, '127.0.0.1')]
      for (let index = 0; index < 3; index++) await take(store, `${kind}-first-${index}`) // behind its question for settings
      const countCalls = async () => {
        const stats = await admin.info('commandstats')
        const calls = [...stats.matchAll(/^cmdstat_(eval|evalsha|script\|load):calls=(\d+)/gm)]
        return calls.reduce((sum, [, , count]) => sum + Number(count), 0)
      }
      const before = await countCalls()
      for (let index = 0; index < 100; index++) await take(store, `${kind}-trip-${index}`)
      expect((await countCalls()) - before).toBe(100)
      admin.disconnect()
    })
  })

  it('leaves nothing of an abandoned claim, and one key with an expiry of a done event', async () => {
    const [store, admin] = [await makeStore('node-redis', { prefix: 'mine:' }), new Redis(server().port, '127.0.0.1')]
    await store.claim('abandoned', 50)
    await store.complete('done', (await take(store, 'done')).token)
    await store.release('given back', (await take(store, 'given back')).token, [])
    await expect.poll(() => admin.keys('mine:*')).toEqual(['mine:done'])
    const term = await admin.pttl('mine:done')
    expect(term).toBeGreaterThan(7 * 24 * 3_600_000 - 60_000)
    expect(term).toBeLessThanOrEqual(7 * 24 * 3_600_000)
    admin.disconnect()
  })

  it('rejects a claim whose client throws synchronously, and releases it', async () => {
    const client = new Redis(server().port, '127.0.0.1')
    let isBroken = true
    const sendCommand = ([name = '', ...words]: string[]) => {
      if (isBroken) throw new Error('the client is not ready')
      return client.call(name, ...words)
    }
    const store = redisStore({ client: { sendCommand } })
    const claiming = Array.from({ length: 3 }, () => store.claim('thrown', LEASE_MS))
    expect((await Promise.allSettled(claiming)).map(({ status }) => status)).toEqual(Array(3).fill('rejected'))
    isBroken = false
    await take(store, 'thrown')
    client.disconnect()
  })

  it('returns the same claim again if the client sends it twice, as after a lost connection', async () => {
    const client = new Redis(server().port, '127.0.0.1')
    const sendTwice = async ([name = '', ...words]: string[]) => {
      await client.call(name, ...words)
      return client.call(name, ...words)
    }
    const store = redisStore({ client: { sendCommand: sendTwice } })
    const { token } = await take(store, 'twice')
    expect(await store.renew('twice', token, LEASE_MS, ['a'])).toBe(true)
    expect(await store.release('twice', token, ['b'])).toBe(true)
    expect([...(await take(store, 'twice')).marks].sort()).toEqual(['a', 'b'])
    client.disconnect()
  })

  it('refuses claims immediately when the server has been silent for long, and claims again when it is back', async () => {
    const store = await makeStore('ioredis')
    await take(store, 'before')
    server().freeze()
    const claimMany = (name: string) =>
      Promise.allSettled(Array.from({ length: 100 }, async (_, index) => store.claim(`${name}-${index}`, LEASE_MS)))
    const isRefused = (result: PromiseSettledResult<unknown>) =>
      result.status === 'rejected' && /Redis has not answered for \d+ s/.test(String(result.reason))
    try {
      expect((await claimMany('silent')).filter(({ status }) => status === 'rejected')).toHaveLength(100)
      let refused: number
      do refused = (await claimMany('refused')).filter(isRefused).length
      while (refused === 0) // its 3 s are not over
      expect(refused).toBeGreaterThanOrEqual(99) // one of them is a probe
    } finally {
      server().thaw()
    }
    // The server processes them when it is back, and they are released.
    for (const key of ['after', 'silent-0']) await untilClaimed(store, () => key)
  })

  describe.concurrent.each(['node-redis', 'ioredis'])('a server in trouble, by %s', (kind) => {
    const open = async ({ onTestFinished }: TestContext, own: RedisServer) => {
      const { client, close } = await connect(kind, own.port)
      onTestFinished(async () => close())
      return redisStore({ client })
    }

    it('that reads its files refuses claims, and accepts them once it has', async (context) => {
      const own = await startRedis()
      context.onTestFinished(() => own.remove())
      const store = await open(context, own)
      const keys = Array.from({ length: 10 }, (_, index) => `loaded ${index}`)
      await Promise.all(keys.map(async (key) => store.complete(key, (await take(store, key)).token)))
      const admin = new Redis(own.port, '127.0.0.1', { enableReadyCheck: false, retryStrategy: () => 20 })
      admin.on('error', () => {})
      context.onTestFinished(() => admin.disconnect())
      // While it reads, it answers after every thousand commands.
      await Promise.all(Array.from({ length: 20_000 }, (_, index) => admin.set(`other ${index}`, '')))
      await own.kill('SIGKILL')
      const starting = own.start('--key-load-delay', '500')
      await expect(admin.get('a key')).rejects.toThrow(/LOADING/)
      await expect((async () => store.claim('early', LEASE_MS))()).rejects.toThrow()
      await admin.config('SET', 'key-load-delay', '0')
      await starting
      await untilClaimed(store, () => 'new')
      for (const key of keys.slice(0, 10)) expect(await store.claim(key, LEASE_MS)).toEqual({ state: 'done' })
    })

    it('that has no memory left refuses claims, and still completes events', async (context) => {
      const own = await startRedis()
      context.onTestFinished(() => own.remove())
      const [store, admin] = [await open(context, own), new Redis(own.port, '127.0.0.1')]
      context.onTestFinished(() => admin.disconnect())
      const { token } = await take(store, 'under way')
      await admin.config('SET', 'maxmemory', '1000')
      // On a busy machine, an answer may come too late first.
      await expect.poll(() => Promise.resolve(store.claim('new', LEASE_MS)).catch(String)).toMatch(/OOM/)
      for (const at of [2, 3, 1])
        expect(await store.renew('under way', token, LEASE_MS, ['a mark'], [{ key: 'a record', at }])).toBe(true)
      expect(await store.renew('under way', token, LEASE_MS, ['a mark'])).toBe(true)
      expect(await store.complete('under way', token)).toBe(true)
      await admin.config('SET', 'maxmemory', '0')
      expect(await store.claim('under way', LEASE_MS)).toEqual({ state: 'done' })
      expect(await store.claim('new', LEASE_MS, ['a record'])).toMatchObject({ positions: [3] })
    })
  })

  describe('its report', () => {
    const started: RedisServer[] = []
    afterAll(() => Promise.all(started.map((each) => each.remove())))
    const claimOn = async (...args: readonly string[]) => {
      const own = await startRedis(...args)
      started.push(own)
      const { client } = keep(await connect('node-redis', own.port))
      const [store, logger, second] = [redisStore({ client }), recordingLogger(), recordingLogger()]
      store.reportTo?.(logger)
      expect(logger.warnings).toEqual([])
      for (let index = 0; index < 10; index++) await store.claim(`key-${index}`, LEASE_MS)
      store.reportTo?.(second)
      expect(second.warnings).toEqual(logger.warnings)
      return logger.warnings
    }

    it.each([
      ['Redis keeps its data', []],
      ['it may not query the settings', ['--user', 'default', 'on', 'nopass', '~*', '&*', '+@all', '-info']],
    ])('is empty if %s', async (_why, args) => {
      expect(await claimOn(...args)).toEqual([])
    })

    it('names, once each, the settings that make Redis forget, with the fix', async () => {
      const lines = await claimOn('--appendonly', 'no', '--maxmemory-policy', 'allkeys-lru')
      expect(lines).toEqual([
        expect.stringMatching(/"appendonly no".*Set "appendonly yes"/),
        expect.stringMatching(/"maxmemory-policy allkeys-lru".*"maxmemory-policy noeviction"/),
      ])
    })
  })
})

describe('redisStore', () => {
  const closed = new Redis({ lazyConnect: true })
  closed.disconnect()
  const client = { sendCommand: async () => 1 }

  it.each<[string, string, unknown, RegExp]>([
    ['no options', 'option_invalid', undefined, /client/],
    ['no client', 'option_invalid', { client: undefined }, /not a Redis client; give the result of createClient\(\)/],
    ['the class of a client', 'option_invalid', { client: Redis }, /not a Redis client/],
    ['a promise of a client', 'option_invalid', { client: Promise.resolve() }, /is a promise; await it/],
    [
      'an unconnected client',
      'option_invalid',
      { client: createClient() },
      /not connected; call "await client.connect/,
    ],
    ['a transaction', 'option_invalid', { client: createClient().multi() }, /is a transaction or a legacy client/],
    ['a legacy client', 'option_invalid', { client: createClient().legacy() }, /is a transaction or a legacy client/],
    ['a pipeline of ioredis', 'option_invalid', { client: closed.pipeline() }, /no client of ioredis/],
    ['a closed client', 'option_invalid', { client: closed }, /has been closed/],
    ['an unknown option', 'option_unknown', { client, ttl: 10 }, /ttl/],
    ['a prefix that is no text', 'option_invalid', { client, prefix: 7 }, /prefix/],
    ['no retention', 'option_invalid', { client, retentionMs: 0 }, /retentionMs/],
  ])('refuses %s', (_what, code, options, message) => {
    // Plain JavaScript can pass anything.
    expect(() => redisStore(options as RedisStoreOptions)).toThrow(
      expect.objectContaining({ name: 'ConfigurationError', code, message: expect.stringMatching(message) }),
    )
  })

  it('fails each call of a client that returns something that no script answers', async () => {
    const store = redisStore({ client: { sendCommand: async () => 'OK' } })
    await expect(store.claim('key', LEASE_MS)).rejects.toThrow(/which the script never returns/)
  })
})

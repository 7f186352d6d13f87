import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import pg from 'pg'
import { postgresStore } from 'postern/postgres'
import { describe, expect, it } from 'vitest'
import { postgresProgram } from '../../../engines/postgres-server.ts'
import { untilClaimed } from '../../../store/until-claimed.ts'
import { claimFor, LEASE_MS, newKey, Scene, take } from './scene.ts'

describe.skipIf(postgresProgram === undefined)('postgresStore on connections that fail', () => {
  const scene = new Scene()

  it('commits the writes of a store while another one on the pool looks its table up', async () => {
    const { store, pool } = await scene.store()
    const { store: elsewhere } = await scene.store()
    const claim = await claimFor(store)
    const another = postgresStore({ pool })
    const [, isDone] = await Promise.all([take(another, newKey()), store.complete(claim.key, claim.token)])
    expect([isDone, await elsewhere.claim(claim.key, LEASE_MS)]).toEqual([true, { state: 'done' }])
  })

  it.each<[string, (client: pg.PoolClient) => Promise<unknown>]>([
    ['is still on its way', async (client) => void client.query('BEGIN').catch(() => {})],
    [
      'timed out',
      (client) =>
        client.query({ text: 'SELECT pg_sleep(0.4); BEGIN', query_timeout: 50 } as pg.QueryConfig).catch(() => {}),
    ],
  ])(
    'claims nothing within a transaction of the app, whose BEGIN %s when its client was returned to the pool',
    async (_how, begin) => {
      const { store, pool } = await scene.store({ max: 3 })
      const { store: other } = await scene.store()
      await take(store, newKey())
      const clients = await Promise.all([1, 2].map(() => pool.connect()))
      for (const client of clients) {
        await begin(client)
        client.release()
      }
      const key = newKey()
      const states = [await stateOf(store.claim(key, LEASE_MS))]
      for (let turn = 0; turn < 3; turn++) await stateOf(store.claim(newKey(), LEASE_MS))
      if (states[0] === 'claimed') states.push(await stateOf(other.claim(key, LEASE_MS)))
      expect(states).not.toEqual(['claimed', 'claimed'])
      await untilClaimed(store, newKey)
    },
  )

  it('sends a connection one statement after the other, as pg 9 will require', async () => {
    let most = 0
    class Counting extends pg.Client {
      #underWay = 0

      override query(...given: unknown[]): never {
        const run: Promise<unknown> = Reflect.apply(super.query, this, given) // one of many forms
        most = Math.max(most, ++this.#underWay)
        return run.finally(() => this.#underWay--) as never
      }
    }
    const { store, pool } = await scene.store({ Client: Counting, max: 3 } as pg.PoolConfig)
    const held = await claimFor(store)
    const clients = await Promise.all([pool.connect(), pool.connect()]) // claims share the kept connection then
    const [isRenewed, ...claims] = await Promise.all([
      store.renew(held.key, held.token, LEASE_MS, []),
      ...Array.from({ length: 20 }, () => claimFor(store)),
    ])
    const isDone = await Promise.all([
      ...claims.map(({ key, token }) => store.complete(key, token)),
      ...claims.map(async () => (await store.claim(newKey(), LEASE_MS)).state === 'claimed'),
    ])
    for (const client of clients) client.release()
    expect([isRenewed, ...isDone]).toEqual(Array.from({ length: 41 }, () => true))
    expect(most).toBe(1)
  })

  it('releases a claim whose connection broke while it was written to', async () => {
    let isBroken = false
    class Breaking extends pg.Client {
      override query(...given: unknown[]): never {
        const run: Promise<unknown> = Reflect.apply(super.query, this, given) // one of many forms
        if (isBroken || !JSON.stringify(given[0] ?? '').includes('unnest')) return run as never
        isBroken = true
        return run.then(() => {
          throw Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })
        }) as never
      }
    }
    const { store } = await scene.store({ Client: Breaking } as pg.PoolConfig)
    const { store: other } = await scene.store()
    const key = newKey()
    await expect(Promise.resolve(store.claim(key, LEASE_MS))).rejects.toThrow()
    await untilClaimed(other, () => key)
  })
})

async function stateOf(claim: unknown): Promise<string> {
  try {
    return String(Object(await claim).state)
  } catch {
    return 'refused'
  }
}

/** Builds one message of Postgres' protocol: its letter, its length, and its content. */
function message(letter: string, content: string): Buffer {
  const bytes = Buffer.alloc(5 + content.length)
  bytes.write(letter, 'latin1')
  bytes.writeInt32BE(4 + content.length, 1)
  bytes.write(content, 5, 'latin1')
  return bytes
}

const WELCOME = Buffer.concat([message('R', '\0\0\0\0'), message('Z', 'I')])
const FAREWELL = message('E', 'SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0')

// A stopping server does so only by chance, and a client gets both in one packet only by chance.
it('a server that accepts a connection and ends it in one packet does not end the process', async () => {
  const server = createServer((socket) => {
    socket.once('data', () => socket.end(Buffer.concat([WELCOME, FAREWELL])))
    socket.on('error', () => {})
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // it listens on TCP
  const pool = new pg.Pool({ host: '127.0.0.1', port, user: 'nobody', database: 'none' })
  try {
    await expect(postgresStore({ pool }).claim('key', LEASE_MS)).rejects.toThrow()
  } finally {
    await pool.end()
    server.close()
  }
})

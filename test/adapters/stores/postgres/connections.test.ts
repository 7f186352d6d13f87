import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import pg from 'pg'
import { postgresStore } from 'postern/postgres'
import { describe, expect, it } from 'vitest'
import { postgresProgram } from '../../../engines/postgres-server.ts'
import { untilClaimed } from '../../../store/until-claimed.ts'
import { claimFor, LEASE_MS, newKey, Scene, sendingBy } from './scene.ts'

describe.skipIf(postgresProgram === undefined)('postgresStore on connections that fail', () => {
  const scene = new Scene()

  it('begins no transaction within one that the app left open on a connection', async () => {
    const { store, pool } = await scene.store({ max: 1 })
    await pool.query('CREATE TABLE left_open (n int)')
    const client = await pool.connect()
    await client.query('BEGIN; INSERT INTO left_open VALUES (1)')
    client.release()
    await store.transaction(await claimFor(store), (tx) => tx.query('INSERT INTO left_open VALUES (2)'))
    expect((await pool.query('SELECT n FROM left_open')).rows).toEqual([{ n: 2 }])
  })

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
    const { store } = await scene.store({ Client: Counting } as pg.PoolConfig)
    const held = await claimFor(store)
    const [isRenewed, ...claims] = await Promise.all([
      store.renew(held.key, held.token, LEASE_MS, []),
      ...Array.from({ length: 20 }, () => claimFor(store)),
    ])
    const isDone = await Promise.all([
      ...claims.map(({ key, token }) => store.complete(key, token)),
      ...claims.map(async () => (await store.claim(newKey(), LEASE_MS)).state === 'claimed'),
    ])
    expect([isRenewed, ...isDone]).toEqual(Array.from({ length: 41 }, () => true))
    expect(most).toBe(1)
  })

  it('releases a claim whose connection broke while it was written to', async () => {
    let isBroken = false
    const { store } = await scene.store(
      sendingBy((send, ...given) => {
        const run = send(...given)
        if (isBroken || !JSON.stringify(given[0] ?? '').includes('unnest')) return run
        isBroken = true
        return run.then(() => Promise.reject(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })))
      }),
    )
    const { store: other } = await scene.store()
    const key = newKey()
    await expect(Promise.resolve(store.claim(key, LEASE_MS))).rejects.toThrow()
    await untilClaimed(other, () => key)
  })
})

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

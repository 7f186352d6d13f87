import { setTimeout as sleep } from 'node:timers/promises'
import { eq } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { pgTable, text } from 'drizzle-orm/pg-core'
import type pg from 'pg'
import { createReceiver, type PosternError } from 'postern'
import { postgresStore } from 'postern/postgres'
import { events, signed, silentLogger } from 'postern/testing'
import { beforeAll, describe, expect, it } from 'vitest'
import { postgresProgram } from '../../../engines/postgres-server.ts'
import { Gate } from '../../../support/gate.ts'
import { claimFor, Scene, take } from './scene.ts'

describe.skipIf(postgresProgram === undefined)('transactions of postgresStore', () => {
  const scene = new Scene()
  let store: Awaited<ReturnType<Scene['store']>>['store']
  let pool: pg.Pool

  beforeAll(async () => {
    ;({ store, pool } = await scene.store())
    await pool.query('CREATE TABLE contacts (id text PRIMARY KEY, note text)')
  })

  const insert = (key: string) => (tx: pg.PoolClient) => tx.query('INSERT INTO contacts (id) VALUES ($1)', [key])
  const rowsOf = async (key: string) => (await pool.query('SELECT 1 FROM contacts WHERE id = $1', [key])).rowCount

  it('are rolled back if work hides that it failed in the database', async () => {
    const claim = await claimFor(store)
    const run = store.transaction(claim, async (tx) => {
      await insert(claim.key)(tx)
      await tx.query('SELECT * FROM nowhere').catch(() => {})
    })
    await expect(run).rejects.toThrow()
    expect(await rowsOf(claim.key)).toBe(0)
    await store.release(claim.key, claim.token, [])
    expect((await take(store, claim.key)).marks).toEqual([])
  })

  it.each<[string, (failed: Promise<unknown>) => Promise<unknown>]>([
    ['reports it', (failed) => failed],
    [
      'reports it as an error of its own',
      (failed) => failed.catch((cause) => Promise.reject(new Error('lost', { cause }))),
    ],
    ['hides it', (failed) => failed.catch(() => {})],
  ])('leave a connection on which nothing can be written, as after a failover, if work %s', async (_what, end) => {
    const [first, second] = [await claimFor(store), await claimFor(store)]
    const client = await pool.connect() // the next one that is taken
    await client.query('SET default_transaction_read_only = on')
    client.release()
    await expect(store.transaction(first, (tx) => end(insert(first.key)(tx)))).rejects.toThrow()
    await store.transaction(second, insert(second.key))
    expect(await rowsOf(second.key)).toBe(1)
  })

  describe('whose work changes its role', () => {
    const asRole = (key: string, end: string) => async (tx: pg.PoolClient) => {
      await tx.query('SET LOCAL ROLE tenant')
      await insert(key)(tx)
      if (end !== '') await tx.query(end)
    }

    beforeAll(async () => {
      await pool.query('CREATE ROLE tenant; GRANT INSERT ON contacts TO tenant')
    })

    it.each(['RESET ROLE', 'SET LOCAL ROLE NONE'])('are committed if it ends with %s', async (end) => {
      const claim = await claimFor(store)
      await store.transaction(claim, asRole(claim.key, end))
      expect(await rowsOf(claim.key)).toBe(1)
      await store.release(claim.key, claim.token, [])
      expect((await take(store, claim.key)).marks).toEqual(['save'])
    })

    it('are rolled back if it keeps the role, and report it', async () => {
      const claim = await claimFor(store)
      await expect(store.transaction(claim, asRole(claim.key, ''))).rejects.toMatchObject({
        code: 'transaction_misused',
        message: expect.stringContaining('RESET ROLE'),
        cause: { code: '42501' },
      })
      expect(await rowsOf(claim.key)).toBe(0)
      await store.transaction(claim, insert(claim.key))
      expect(await rowsOf(claim.key)).toBe(1)
    })
  })

  describe('of a handler that is given up', () => {
    it('are rolled back, even in the middle of a statement', async () => {
      const controller = new AbortController()
      const claim = await claimFor(store, { signal: controller.signal })
      const begun = new Gate()
      const run = store.transaction(claim, async (tx) => {
        await insert(claim.key)(tx)
        begun.open()
        await tx.query('SELECT pg_sleep(600)')
      })
      await begun.promise
      const reason = new Error('given up')
      controller.abort(reason)
      await expect(run).rejects.toBe(reason)
      expect(await rowsOf(claim.key)).toBe(0)
      await store.transaction({ ...claim, signal: new AbortController().signal }, insert(claim.key))
      expect(await rowsOf(claim.key)).toBe(1)
    })

    it('never begin if they still waited in line, and leave their place', async () => {
      const small = await scene.store({ max: 1 })
      const controller = new AbortController()
      const [first, second, third] = await Promise.all([1, 2, 3].map(() => claimFor(small.store)))
      if (!first || !second || !third) throw new Error('there are three')
      const order: string[] = []
      const running = small.store.transaction(first, () => sleep(100))
      const waiting = small.store.transaction({ ...second, signal: controller.signal }, () => order.push('second'))
      const last = small.store.transaction(third, () => order.push('third'))
      controller.abort(new Error('given up'))
      await expect(waiting).rejects.toThrow('given up')
      await Promise.all([running, last])
      expect(order).toEqual(['third'])
    })
  })

  describe('whose connection is cut at COMMIT', () => {
    it.each([true, false])('run once, whether it reached the server (%s) or not', async (isForwarded) => {
      const cut = await scene.faulty()
      const errors: PosternError[] = []
      const receiver = createReceiver({
        secret: 'secret',
        store: cut.store,
        logger: silentLogger,
        onError: (error) => errors.push(error),
      })
      let runs = 0
      const event = events.contact.created()
      receiver.on('contact.created', ({ id }, context) => {
        runs++
        return context.transaction(async (tx) => {
          await tx.query('INSERT INTO contacts (id) VALUES ($1)', [id])
        })
      })
      const { body, signature } = signed(event, { secret: 'secret' })
      cut.proxy.cutAt = { text: 'COMMIT\0', isForwarded } // the statement that ends it: BEGIN names a level with COMMIT in it
      expect(await receiver.receive({ body, signature })).toMatchObject({ outcome: 'failed', status: 500 })
      if (isForwarded) await expect.poll(() => rowsOf(event.id)).toBe(1)
      expect(await receiver.receive({ body, signature })).toMatchObject({ outcome: 'handled' })
      expect([runs, await rowsOf(event.id)]).toEqual([isForwarded ? 1 : 2, 1])
      expect(errors.map(({ code }) => code)).toEqual(['handler_failed'])
      await receiver.close()
      await cut.pool.end()
    })
  })

  describe('hand out a client that', () => {
    it.each(['BEGIN', 'START  TRANSACTION', 'end', 'rollback', "PREPARE TRANSACTION 'x'"])(
      'refuses %j',
      async (statement) => {
        const claim = await claimFor(store)
        for (const query of [statement, { text: statement }]) {
          const run = store.transaction(claim, async (tx) => {
            await insert(claim.key)(tx)
            await tx.query(query as string) // either form
          })
          await expect(run).rejects.toMatchObject({ code: 'transaction_misused' })
        }
        expect(await rowsOf(claim.key)).toBe(0)
      },
    )

    it('accepts savepoints', async () => {
      const claim = await claimFor(store)
      await store.transaction(claim, async (tx) => {
        for (const text of ['SAVEPOINT a', 'ROLLBACK TO a', 'rollback work to savepoint a', 'RELEASE a'])
          await tx.query(text)
        await insert(claim.key)(tx)
      })
      expect(await rowsOf(claim.key)).toBe(1)
    })

    it.each(['ROLLBACK', 'COMMIT', 'ROLLBACK; BEGIN', 'COMMIT; BEGIN'])(
      'cannot have its mark without its transaction, if %j stands in the middle of a text',
      async (text) => {
        const claim = await claimFor(store)
        const run = store.transaction(claim, async (tx) => {
          await insert(claim.key)(tx)
          await tx.query(`SELECT 1; ${text}`)
        })
        await expect(run).rejects.toMatchObject({ code: 'transaction_misused' })
        await store.release(claim.key, claim.token, [])
        expect((await take(store, claim.key)).marks).toEqual([])
      },
    )

    it('is unusable once the transaction has ended, and cannot be released', async () => {
      const claim = await claimFor(store)
      let kept: pg.PoolClient | undefined
      await store.transaction(claim, (tx) => {
        kept = tx
        tx.release()
        return insert(claim.key)(tx)
      })
      expect(() => kept?.query('SELECT 1')).toThrow(expect.objectContaining({ code: 'transaction_misused' }))
      expect(await rowsOf(claim.key)).toBe(1)
    })
  })

  describe('wrapped for Drizzle', () => {
    const contacts = pgTable('contacts', { id: text().primaryKey(), note: text() })
    const onDrizzle = () => postgresStore({ pool, wrap: (client) => drizzle(client, { schema: { contacts } }) })

    it('write through it', async () => {
      const receiver = createReceiver({ secret: 'secret', store: onDrizzle(), logger: silentLogger })
      receiver.on('contact.created', ({ id }, context) =>
        context.transaction(async (tx) => {
          await tx.insert(contacts).values({ id, note: 'by drizzle' })
          const found = await tx.select().from(contacts).where(eq(contacts.id, id))
          if (found[0]?.note !== 'by drizzle') throw new Error('not there')
        }),
      )
      const event = events.contact.created()
      expect(await receiver.dispatch(event)).toMatchObject({ outcome: 'handled' })
      expect(await rowsOf(event.id)).toBe(1)
      await receiver.close()
    })
  })
})

import { AsyncLocalStorage } from 'node:async_hooks'
import { createReceiver, type Outcome, type PosternError } from 'postern'
import { openSqlite, type SqliteDatabase, sqliteStore } from 'postern/sqlite'
import { events, signed, silentLogger } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { drivers } from './drivers.ts'
import { closing, makeFolder } from './folder.ts'

const SECRET = 'whsec_sqlite_transactions'
const fileOf = makeFolder()
let files = 0

describe.each(drivers)('context.transaction on %s', (driver) => {
  function scene() {
    const database = closing(openSqlite(fileOf(`${files++}.db`), { driver }))
    database.exec('CREATE TABLE IF NOT EXISTS contacts (id TEXT, run INTEGER)')
    const errors: PosternError[] = []
    const receiver = createReceiver({
      secret: SECRET,
      store: sqliteStore({ database }),
      logger: silentLogger,
      onError: (error) => errors.push(error as PosternError), // the receiver passes nothing else
    })
    const send = (event: ReturnType<typeof events.contact.created>): Promise<Outcome> => {
      return receiver.receive(signed(event, { secret: SECRET }))
    }
    const rows = () => database.prepare('SELECT id, run FROM contacts ORDER BY run').all()
    const save = (tx: SqliteDatabase, id: string, run = 1) =>
      tx.prepare('INSERT INTO contacts VALUES (?, ?)').run(id, run)
    return { database, receiver, errors, send, rows, save, event: events.contact.created() }
  }

  it('runs the work of deliveries that come together in the async context of each', async () => {
    const { receiver, send } = scene()
    const context = new AsyncLocalStorage<string>()
    const seen: string[] = []
    receiver.on('contact.created', ({ accountKey }, { transaction }) =>
      transaction(() => void seen.push(`${accountKey} in ${context.getStore()}`)),
    )
    const tenants = ['acme', 'globex', 'initech']
    await Promise.all(
      tenants.map((accountKey) => context.run(accountKey, () => send({ ...events.contact.created(), accountKey }))),
    )
    expect(seen.sort()).toEqual(tenants.map((tenant) => `${tenant} in ${tenant}`))
  })

  it('refuses work that would stay open across an await, and leaves nothing of it', async () => {
    const { receiver, send, rows, save, event, errors } = scene()
    receiver.on('contact.created', async (_event, { transaction }) => {
      const work = async (tx: SqliteDatabase) => void save(tx, 'lost')
      await transaction(work as never) // a compile error as it is
    })
    expect(await send(event)).toMatchObject({ outcome: 'failed' })
    expect(rows()).toEqual([])
    expect(errors[0]?.cause).toMatchObject({
      code: 'transaction_misused',
      message: expect.stringContaining('await first'),
    })
  })

  it.each([
    ['a conflict that rolls back', `INSERT OR ROLLBACK INTO contacts (rowid, id) VALUES (1, 'again')`],
    ['a ROLLBACK of its own', `ROLLBACK; SELECT no_such_column`],
  ])('writes nothing more once %s has ended it, even if the work continues', async (_how, ending) => {
    const { database, receiver, send, rows, save, event, errors } = scene()
    const prepared = database.prepare(`INSERT INTO contacts VALUES ('prepared', 2)`)
    receiver.on('contact.created', (_event, { transaction }) =>
      transaction((tx) => {
        tx.exec(`INSERT INTO contacts (rowid, id) VALUES (1, 'first')`)
        expect(() => tx.exec(ending)).toThrow()
        for (const write of [() => prepared.run(), () => save(tx, 'saved'), () => tx.exec('BEGIN')])
          expect(write).toThrow(/ended the transaction/)
      }),
    )
    expect(await send(event)).toMatchObject({ outcome: 'failed' })
    expect(errors[0]?.cause).toMatchObject({ code: 'transaction_misused' })
    expect(rows()).toEqual([])
    prepared.run() // outside of transactions nothing is delayed
    expect(rows()).toHaveLength(1)
  })

  it.each(['COMMIT', 'COMMIT; BEGIN', 'ROLLBACK'])(
    'sets no finish mark for a handler whose work runs %s',
    async (ending) => {
      const { receiver, send, rows, save, event } = scene()
      let runs = 0
      receiver.on('contact.created', (_event, { transaction }) =>
        transaction((tx) => {
          runs++
          save(tx, 'first', runs)
          if (runs === 1) tx.exec(ending)
          save(tx, 'second', runs)
        }),
      )
      expect(await send(event)).toMatchObject({ outcome: 'failed' })
      expect(await send(event)).toMatchObject({ outcome: 'handled' })
      expect(rows().filter(({ run }) => run === 2)).toMatchObject([{ id: 'first' }, { id: 'second' }])
    },
  )

  it('treats transactions within it as savepoints', async () => {
    const { receiver, send, rows, save, event } = scene()
    receiver.on('contact.created', (_event, { transaction }) =>
      transaction((tx) => {
        tx.transaction(() => save(tx, 'inner', 1))
        expect(() =>
          tx.transaction(() => {
            save(tx, 'undone', 2)
            throw new RangeError('no')
          }),
        ).toThrow(RangeError)
        save(tx, 'outer', 3)
      }),
    )
    expect(await send(event)).toMatchObject({ outcome: 'handled' })
    expect(rows()).toMatchObject([{ id: 'inner' }, { id: 'outer' }])
  })
})

import { setTimeout as sleep } from 'node:timers/promises'
import { createReceiver, type PosternError } from 'postern'
import { openSqlite, type SqliteDatabase, sqliteStore } from 'postern/sqlite'
import { events, signed, silentLogger } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { drivers } from './drivers.ts'
import { closing, makeFolder } from './folder.ts'

const SECRET = 'whsec_sqlite_outage'
const fileOf = makeFolder()
let files = 0

describe.each(drivers)('on %s', (driver) => {
  function open(path: string): SqliteDatabase {
    return closing(openSqlite(path, { driver }))
  }

  function scene(path = fileOf(`${files++}.db`)) {
    const database = open(path)
    const errors: PosternError[] = []
    const seen: string[] = []
    const receiver = createReceiver({
      secret: SECRET,
      store: sqliteStore({ database }),
      logger: silentLogger,
      onError: (error) => errors.push(error as PosternError), // the receiver passes nothing else
    })
    receiver.on('contact.created', async ({ id }) => {
      seen.push(id)
      await sleep(5)
    })
    const send = (event: ReturnType<typeof events.contact.created>) => {
      return receiver.receive(signed(event, { secret: SECRET }))
    }
    return { path, database, send, errors, seen }
  }

  it('a file that another process locks for longer is answered 503, with the event loop free, until it is free again', async () => {
    const { path, send, errors, seen } = scene()
    const done = events.contact.created()
    expect(await send(done)).toMatchObject({ outcome: 'handled' })
    const other = open(path)
    other.exec('BEGIN EXCLUSIVE')
    let turns = 0
    const ticking = setInterval(() => turns++, 10)
    const fresh = events.contact.created()
    const outcomes = await Promise.all([send(fresh), send(done), send(events.contact.created())])
    clearInterval(ticking)
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({ outcome: 'failed', status: 503, code: 'store_unavailable' })
    // Some 250 if nothing else runs. Waiting inside of SQLite would leave a dozen.
    expect(turns).toBeGreaterThan(50)
    expect(String(errors[0]?.cause)).toMatch(/locked/)
    const waiting = send(events.contact.created())
    await sleep(100)
    other.exec('COMMIT')
    expect(await waiting).toMatchObject({ outcome: 'handled' })
    expect(await send(fresh)).toMatchObject({ outcome: 'handled' })
    expect(await send(done)).toMatchObject({ outcome: 'duplicate' })
    expect(seen.filter((id) => id === fresh.id)).toHaveLength(1)
  })

  it('a full disk is answered 503, and earlier writes are kept', async () => {
    const { database, send, errors } = scene()
    const done = events.contact.created()
    expect(await send(done)).toMatchObject({ outcome: 'handled' })
    const pages = Number(database.pragma('page_count')[0]?.page_count)
    database.pragma(`max_page_count = ${pages}`)
    const sent = Array.from({ length: 300 }, () => events.contact.created())
    const outcomes = await Promise.all(sent.map(send))
    expect(outcomes.filter(({ status }) => status !== 200 && status !== 503)).toEqual([])
    expect(outcomes.some(({ status }) => status === 503)).toBe(true)
    expect(errors.some(({ code }) => code === 'store_unavailable')).toBe(true)
    expect(await send(done)).toMatchObject({ status: 200 })
    database.pragma('max_page_count = 1000000')
    for (const outcome of await Promise.all(sent.map(send))) expect(outcome.status).toBe(200)
    expect(database.pragma('integrity_check')).toMatchObject([{ integrity_check: 'ok' }])
  })

  it('two receivers on one file run each event once', async () => {
    const one = scene()
    const two = scene(one.path)
    const sent = Array.from({ length: 50 }, () => events.contact.created())
    await Promise.all(sent.flatMap((event) => [one.send(event), two.send(event)]))
    expect([...one.seen, ...two.seen].sort()).toEqual(sent.map(({ id }) => id).sort())
    for (const event of sent) expect(await two.send(event)).toMatchObject({ outcome: 'duplicate' })
  })
})

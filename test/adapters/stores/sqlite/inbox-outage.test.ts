import { copyFileSync, renameSync, rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { createReceiver } from 'postern'
import { openSqlite, sqliteInbox, sqliteStore } from 'postern/sqlite'
import { events, signed, silentLogger } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { makeItem } from '../../inbox/engines.ts'
import { makeScene } from '../../inbox-scene.ts'
import { drivers } from './drivers.ts'
import { closing, makeFolder } from './folder.ts'

const fileOf = makeFolder()
let files = 0

describe.each(drivers)('sqliteInbox on %s', (driver) => {
  function open() {
    const path = fileOf(`${files++}.db`)
    const database = closing(openSqlite(path, { driver }))
    const scene = makeScene(sqliteInbox({ database }), { store: sqliteStore({ database }) })
    return { ...scene, path, database }
  }

  it('answers 503 while the disk is full, keeps its accepted events, and works again when there is room', async () => {
    const { database, inbox, receiver, send, errors, seen, untilWorkedOff } = open()
    expect(await send(events.contact.created())).toMatchObject({ outcome: 'accepted' })
    const pages = Number(database.pragma('page_count')[0]?.page_count)
    database.pragma(`max_page_count = ${pages + 20}`)
    const sent = Array.from({ length: 300 }, () => events.contact.created())
    const answers = await Promise.all(sent.map(send))
    const accepted = sent.filter((_, index) => answers[index]?.outcome === 'accepted')
    const refused = sent.filter((_, index) => answers[index]?.outcome !== 'accepted')
    expect(refused.length).toBeGreaterThan(0)
    for (const answer of answers.filter(({ outcome }) => outcome !== 'accepted'))
      expect(answer).toMatchObject({ status: 503, code: 'inbox_unavailable' })
    expect(errors.every(({ code }) => code === 'inbox_unavailable')).toBe(true)
    // On a slow machine, an event may be stored after its delivery was given up.
    expect((await inbox.counts()).waiting).toBeGreaterThanOrEqual(1 + accepted.length)
    receiver.work({ concurrency: 20 })
    await sleep(200)
    database.pragma('max_page_count = 1000000')
    for (const answer of await Promise.all(sent.map(send))) expect(answer).toMatchObject({ outcome: 'accepted' })
    await untilWorkedOff()
    expect(new Set(seen).size).toBe(1 + sent.length)
    expect(seen).toHaveLength(1 + sent.length)
    expect((await inbox.counts()).dead).toBe(0)
    expect(database.pragma('integrity_check')).toMatchObject([{ integrity_check: 'ok' }])
  })

  describe.skipIf(process.platform === 'win32')('answers 503', () => {
    const refused = { status: 503, code: 'inbox_unavailable' }

    it('while its file is away, and once another one stands there', async () => {
      const { path, receiver, send, errors, untilWorkedOff } = open()
      expect(await send(events.contact.created())).toMatchObject({ outcome: 'accepted' })
      renameSync(path, `${path}.kept`)
      expect(await send(events.contact.created())).toMatchObject(refused)
      expect(String(errors[0]?.cause)).toContain(`${path} was deleted or replaced while it was open. Restart the app.`)
      renameSync(`${path}.kept`, path)
      expect(await send(events.contact.created())).toMatchObject({ outcome: 'accepted' })
      receiver.work()
      await untilWorkedOff()
      copyFileSync(path, `${path}.copy`)
      renameSync(`${path}.copy`, path)
      expect(await send(events.contact.created())).toMatchObject(refused)
    })

    it('once a backup was copied over its file, and its log deleted', async () => {
      const { path, database, send } = open()
      expect(await send(events.contact.created())).toMatchObject({ outcome: 'accepted' })
      database.exec(`VACUUM INTO '${path}.backup'`)
      copyFileSync(`${path}.backup`, path)
      for (const end of ['-wal', '-shm']) rmSync(`${path}${end}`)
      expect(await send(events.contact.created())).toMatchObject(refused)
    })
  })

  it('names the table that another program renamed, and refuses to begin without the indexes that went with it', async () => {
    const { path, database, send, errors } = open()
    database.exec('ALTER TABLE postern_inbox RENAME TO before')
    expect(await send(events.contact.created())).toMatchObject({ status: 503, code: 'inbox_unavailable' })
    expect(String(errors[0]?.cause)).toMatch(/no such table: (main\.)?postern_inbox.*Restart the app/)
    const again = () => sqliteInbox({ database: closing(openSqlite(path, { driver })) })
    for (const each of ['index order', 'index delayed', 'index lost', 'trigger gone', 'index lane']) {
      const part = each.replace(' ', ' postern_inbox_')
      const refusal = { code: 'database_unusable', message: expect.stringMatching(`${part}: that of the table before`) }
      expect(again).toThrow(expect.objectContaining(refusal))
      database.exec(`DROP ${part}`)
    }
    await again().put(makeItem('1'))
  })

  it('keeps bodies in a table of their own, which counts and lists do not read', async () => {
    const { database, inbox, receiver, send, untilWorkedOff } = open()
    const bodies = () => Number(database.prepare('SELECT count(*) AS n FROM postern_inbox_bodies').get()?.n)
    for (let count = 0; count < 3; count++) await send(events.contact.created())
    const [{ key } = { key: '' }] = (await inbox.list('waiting')).entries
    await inbox.drop(key)
    expect(bodies()).toBe(2)
    database.exec('ALTER TABLE postern_inbox_bodies RENAME TO away')
    expect((await inbox.list('waiting')).entries).toHaveLength(2)
    expect(await inbox.counts()).toMatchObject({ waiting: 2 })
    database.exec('ALTER TABLE away RENAME TO postern_inbox_bodies')
    receiver.work()
    await untilWorkedOff()
    expect(bodies()).toBe(0)
  })

  it('lets an event be dropped whose worker has died', async () => {
    const { database, inbox, send } = open()
    const sent = events.contact.created()
    await send(sent)
    const [{ key } = { key: '' }] = (await inbox.list('waiting')).entries
    const take = (endsAt: number) =>
      database.exec(`UPDATE postern_inbox SET state = 2, worker = 'gone', position = ${endsAt}`)
    take(Date.now() + 10_000)
    expect(await inbox.drop(key)).toBe(false)
    expect(await inbox.counts()).toMatchObject({ waiting: 0, running: 1 })
    take(Date.now() - 1)
    expect(await inbox.counts()).toMatchObject({ waiting: 1, running: 0 })
    expect((await inbox.list('waiting')).entries).toMatchObject([{ key, state: 'waiting' }])
    expect(await inbox.get(key)).toMatchObject({ state: 'waiting' })
    expect(await inbox.drop(key)).toBe(true)
    expect(await inbox.counts()).toMatchObject({ waiting: 0, running: 0, dead: 0 })
  })

  it('has a worker that skips an event which is older than the latest of its record', async () => {
    const database = closing(openSqlite(fileOf(`${files++}.db`), { driver }))
    const engines = { store: sqliteStore({ database }), inbox: sqliteInbox({ database }) }
    const receiver = createReceiver({ secret: 'secret', logger: silentLogger, ...engines })
    const seen: string[] = []
    receiver.on('contact.*', { order: 'latest', name: 'crm' }, ({ timestamp }) => void seen.push(timestamp))
    for (const timestamp of ['2025-01-01T00:00:07Z', '2025-01-01T00:00:06Z', '2025-01-01T00:00:08Z']) {
      const event = events.contact.updated({ _id: 'one' }, { timestamp })
      expect(await receiver.receive(signed(event, { secret: 'secret' }))).toMatchObject({ outcome: 'accepted' })
    }
    receiver.work({ concurrency: 1 })
    await expect.poll(() => seen).toEqual(['2025-01-01T00:00:07Z', '2025-01-01T00:00:08Z'])
    await receiver.close()
  })
})

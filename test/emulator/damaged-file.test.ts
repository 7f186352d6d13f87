import { chmod, copyFile, mkdir, readFile, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import { startEmulator } from 'postern/emulator'
import { openSqlite, type SqliteDatabase } from 'postern/sqlite'
import { describe, expect, it } from 'vitest'
import { runCli } from '../cli/run-cli.ts'
import { call, makeDatabase, makeFolder, quiet, sink, start } from './support.ts'

const EVENTS = ['contact.created']
const isRoot = process.geteuid?.() === 0

/** Changes a copy and replaces the file with it: a driver may keep a closed connection, and its lock, for a while. */
async function change(file: string, work: (database: SqliteDatabase) => unknown): Promise<void> {
  const copy = join(await makeFolder(), 'copy.db')
  await copyFile(file, copy).catch(() => {})
  const database = openSqlite(copy)
  await work(database)
  database.pragma('wal_checkpoint(TRUNCATE)')
  database.close()
  await copyFile(copy, file)
}

/** A file of the emulator with data of every kind, larger than a few pages. */
async function makeFile(): Promise<string> {
  const file = join(await makeFolder(), 'emulator.db')
  await change(file, fillDatabase)
  return file
}

async function fillDatabase(database: SqliteDatabase): Promise<void> {
  const crm = await startEmulator({ clock: 'manual', logger: quiet, database })
  crm.webhooks.create({ url: 'http://127.0.0.1:9/', events: EVENTS, active: false })
  crm.webhooks.create({ url: 'http://127.0.0.1:9/', events: EVENTS })
  for (let made = 0; made < 50; made++) crm.records.create('contact', { note: 'x'.repeat(2_000) })
  await crm.close()
}

const DAMAGES: readonly (readonly [string, string, (file: string) => unknown])[] = [
  ['a text', 'not a SQLite database', (file) => writeFile(file, 'once upon a time '.repeat(100))],
  ['cut off', 'damaged', (file) => truncate(file, 8_192)],
  ['with pages of zeros', 'damaged', (file) => overwrite(file, 4_096)],
  [
    'with an entry that is no JSON',
    'damaged',
    (file) => changeBy(file, "UPDATE entries SET value = '{' WHERE kind = 'record'"),
  ],
  [
    'with an empty entry',
    'damaged',
    (file) => changeBy(file, "UPDATE entries SET value = 'null' WHERE kind = 'webhook'"),
  ],
  ['without the bodies', 'damaged', (file) => changeBy(file, 'DELETE FROM bodies')],
  ['of a later version', 'version 99', (file) => changeBy(file, 'UPDATE emulator SET version = 99')],
]

const changeBy = (file: string, sql: string) => change(file, (database) => database.exec(sql))

async function overwrite(file: string, from: number): Promise<void> {
  const bytes = await readFile(file)
  await writeFile(file, bytes.fill(0, from))
}

/** Starts the command line on the file; it must end by itself. */
const runOn = (file: string) => runCli(['emulator', '--port', '0', '--data', file])

describe('a file that cannot be used', () => {
  it.each(DAMAGES)('ends the program with 3 and one line: %s', async (_what, told, damage) => {
    const file = await makeFile()
    await damage(file)
    const { code, stdout, stderr } = await runOn(file)
    expect([code, stdout]).toEqual([3, ''])
    expect(stderr).toMatch(/^postern: [^\n]+ (replace|Replace|Give)[^\n]+\.\n$/)
    expect(stderr).toContain(file)
    expect(stderr).toContain(told)
  })

  it.each([
    'CREATE TABLE users (id INTEGER)',
    'CREATE TABLE emulator (version INTEGER); CREATE TABLE entries (name TEXT)',
    'CREATE TABLE emulator (version INTEGER); CREATE TABLE bodies (name TEXT)',
  ])('is the one of another program, and is left unchanged: %s', async (sql) => {
    const file = join(await makeFolder(), 'other.db')
    await changeBy(file, sql)
    const { code, stderr } = await runOn(file)
    expect([code, stderr]).toEqual([3, expect.stringMatching(/^postern: [^\n]+ Give another file\.\n$/)])
    expect(stderr).toContain(file)
    const other = makeDatabase(file)
    expect(other.prepare('SELECT sql FROM sqlite_master').all()).toHaveLength(sql.split(';').length)
  })

  it('is a folder, or in a folder that does not exist', async () => {
    const folder = await makeFolder()
    await mkdir(join(folder, 'emulator.db'))
    for (const file of [join(folder, 'emulator.db'), join(folder, 'missing', 'emulator.db')]) {
      const { code, stderr } = await runOn(file)
      expect([code, stderr]).toEqual([3, expect.stringMatching(/^postern: [^\n]+ Give [^\n]+\.\n$/)])
      expect(stderr).toContain(file)
    }
  })

  // A thread of a root's process cannot take another user's rights.
  it.runIf(!isRoot || isMainThread).each([0o000, 0o200, 0o444])('may not be read or written: mode %o', async (mode) => {
    const file = await makeFile()
    await chmod(file, mode)
    // Modes have no effect for root.
    if (isRoot) {
      await chmod(join(file, '..'), 0o777)
      process.seteuid?.(65_534)
    }
    try {
      const { code, stderr } = await runOn(file)
      expect([code, stderr]).toEqual([3, expect.stringMatching(/^postern: [^\n]+\.\n$/)])
      expect(stderr).toContain(file)
      expect(stderr).toMatch(/written|write/)
    } finally {
      if (isRoot) process.seteuid?.(0)
    }
  })

  it.runIf(process.platform === 'linux')('is on a disk that is full', async () => {
    const { code, stderr } = await runOn('/dev/full')
    expect([code, stderr]).toEqual([3, expect.stringMatching(/^postern: [^\n]+\/dev\/full[^\n]+room[^\n]+\n$/)])
  })
})

describe('a disk that is full while the emulator runs', () => {
  const fill = (database: SqliteDatabase) =>
    database.pragma(`max_page_count = ${database.pragma('page_count')[0]?.page_count}`)

  const scene = async (status: number) => {
    const file = join(await makeFolder(), 'emulator.db')
    const database = makeDatabase(file)
    const crm = await start({ database })
    const receiver = await sink(crm.clock, status)
    const webhook = crm.webhooks.create({ url: receiver.url, events: EVENTS })
    crm.records.create('contact', { _id: 'first' })
    await crm.clock.advance('3h')
    return { crm, receiver, webhook, database, note: 'x'.repeat(100_000) }
  }
  const unusable = expect.objectContaining({ code: 'database_unusable' })

  it('refuses changes with 503 and the reason, and changes nothing', async () => {
    const { crm, receiver, webhook, database, note } = await scene(200)
    fill(database)
    const refused = await call(crm, 'POST /_emulator/records/contact', { body: { note } })
    expect(refused).toMatchObject({
      status: 503,
      json: { message: expect.stringMatching(/no room is left.*Make room/) },
    })
    expect(() => crm.records.update('contact', 'first', { note })).toThrow(unusable)
    expect(() => crm.events.emit({ type: 'contact.created', data: { record: { _id: 'x', note } } })).toThrow(unusable)
    const events = Array.from({ length: 200 }, (_, index) => `${'x'.repeat(200)}${index}.created`)
    expect(() => crm.webhooks.update(webhook.id, { events })).toThrow(unusable)
    // The first ones may find room in a page.
    const addAccount = (index: number) =>
      crm.accounts.add({ key: `a${index}`, email: `${index}@test`, password: 'x'.repeat(1_000) })
    expect(() => events.forEach((_, index) => void addAccount(index))).toThrow(unusable)
    const accounts = crm.accounts.list()
    await crm.clock.advance('1m')
    expect(crm.records.list('contact')).toEqual([{ _id: 'first' }])
    expect(crm.webhooks.list()).toEqual([webhook])
    expect(accounts.length).toBeLessThan(20)
    expect(crm.deliveries.list()).toHaveLength(1)
    expect(receiver.received).toHaveLength(1)
    database.pragma('max_page_count = 1000000')
    crm.records.create('contact', { note })
    await crm.clock.advance(0)
    expect(receiver.received).toHaveLength(2)
    await crm.close()
    const next = await start({ database })
    expect(next.accounts.list()).toEqual(accounts)
    expect(next.records.list('contact')).toHaveLength(2)
    expect(next.deliveries.list().map(({ status }) => status)).toEqual(['success', 'success'])
  })

  it('makes the planned attempts, and repeats after a restart those that were not written', async () => {
    const warnings: string[] = []
    const database = makeDatabase()
    const crm = await start({ database, logger: { ...quiet, warn: (_fields, message) => warnings.push(message) } })
    const receiver = await sink(crm.clock, 500, 500, 200)
    crm.webhooks.create({ url: receiver.url, events: EVENTS })
    crm.records.create('contact')
    await crm.clock.advance(0)
    database.exec('CREATE TRIGGER full BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, "no room"); END')
    await crm.clock.advance('10m')
    expect(receiver.received).toHaveLength(3)
    expect(crm.deliveries.list()).toMatchObject([{ status: 'success', attempts: [{}, {}, {}] }])
    expect(warnings.filter((text) => /delivery .* could not be written/.test(text))).toHaveLength(2)
    await crm.close()
    database.exec('DROP TRIGGER full')
    const next = await start({ database })
    await next.clock.advance('1m')
    expect(next.deliveries.list()).toMatchObject([{ status: 'success', attempts: [{ number: 1 }, { number: 2 }] }])
  })
})

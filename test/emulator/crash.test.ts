import { copyFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmulator } from 'postern/emulator'
import { openSqlite } from 'postern/sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Program, start as startProgram } from '../support/programs.ts'
import { call, pick, quiet, sink, start, until } from './support.ts'

/** Starting a program through a compiler takes long on a busy machine. */
const SLOW = 60_000

async function makeFile(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'postern-emulator-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return join(folder, 'emulator.db')
}

async function startChild(file: string): Promise<{ program: Program; url: string }> {
  const program = startProgram('--import', {}, 'tsx', 'test/emulator/program.ts', file)
  onTestFinished(() => void program.child.kill('SIGKILL'))
  const url = () => /^ready (\S+)$/m.exec(program.output)?.[1]
  await until(() => url() !== undefined || program.child.exitCode !== null, 30_000)
  return { program, url: url() ?? '' }
}

describe('kill -9', { timeout: SLOW }, () => {
  it('loses no pending delivery: every event arrives, and the schedule goes on', async () => {
    const file = await makeFile()
    const receiver = await sink(Date, 500)
    const first = await startChild(file)
    const login = await call(first, 'POST /api/identity/auth/login', {
      body: { email: 'ada@acme.test', password: 'password' },
    })
    const body = { url: receiver.url, events: ['contact.created'] }
    await call(first, 'POST /api/integrations/webhooks', { token: pick(login.json, 'accessToken'), body })
    const sent: string[] = []
    for (let round = 0; round < 5; round++) {
      const { json } = await call(first, 'POST /_emulator/events', { body: { type: 'contact.created', count: 20 } })
      for (const { id } of Object(json).events) sent.push(id)
    }
    first.program.child.kill('SIGKILL')
    await first.program.exitCode
    receiver.answers = [200]
    const second = await startChild(file)
    await until(
      () => new Set(receiver.received.map(({ body }) => JSON.parse(String(body)).id)).size >= sent.length,
      30_000,
    )
    const state = async () => Object((await call(second, 'GET /_emulator/state')).json)
    for (let left = Number.NaN; left !== 0; left = (await state()).counts.pending)
      await new Promise((resolve) => setTimeout(resolve, 50))
    const log = Object((await call(second, 'GET /_emulator/deliveries')).json)
    expect(new Set(log.map(({ eventId }: { eventId: string }) => eventId))).toEqual(new Set(sent))
    expect(new Set(log.map(({ status }: { status: string }) => status))).toEqual(new Set(['success']))
    // The count of attempts continues: no number is there twice, none is missing.
    for (const { attempts } of log)
      expect(attempts.map(({ number }: { number: number }) => number)).toEqual(
        attempts.map((_each: object, index: number) => index + 1),
      )
  })

  it('is the end of the lock; until then a second process is refused', async () => {
    const file = await makeFile()
    const first = await startChild(file)
    const refused = await startChild(file)
    expect(await refused.program.exitCode).toBe(3)
    expect(refused.program.output).toMatch(/database_unusable/)
    first.program.child.kill('SIGKILL')
    await first.program.exitCode
    expect((await startChild(file)).url).toMatch(/^http:/)
  })
})

describe('a crash', () => {
  /** Simulates a file after a kill -9. */
  const snapshot = (file: string, copy: string) => {
    for (const end of ['', '-wal']) copyFileSync(file + end, copy + end)
  }

  it('while a manual clock moves leaves it at the end of its last attempt', async () => {
    const file = await makeFile()
    const database = openSqlite(file)
    onTestFinished(async () => database.close())
    const one = await start({ database })
    const receiver = await sink(one.clock, 500)
    one.webhooks.create({ url: receiver.url, events: ['contact.created'] })
    one.records.create('contact')
    const copy = await makeFile()
    one.subscribe((message) => {
      if (message.type === 'attempt' && message.attempt.number === 3) snapshot(file, copy)
    })
    await one.clock.advance('3h')
    const left = openSqlite(copy)
    onTestFinished(async () => left.close())
    const two = await start({ database: left })
    const [delivery] = two.deliveries.list()
    expect(delivery?.attempts).toHaveLength(3)
    expect(two.clock.now()).toBe(delivery?.attempts[2]?.at)
    expect(delivery?.nextAttemptAt).toBe(two.clock.now() + 30 * 60_000)
  })
})

describe('a database', () => {
  it('keeps accounts, tokens, webhooks, records and deliveries, bytes and all', async () => {
    const database = openSqlite(await makeFile())
    onTestFinished(async () => database.close())
    const receiver = await sink(Date, 500)
    const one = await startEmulator({ clock: 'manual', logger: quiet, database })
    one.accounts.add({ key: 'third', email: 'third@test', password: 'pw' })
    const token = await one.login({ accountKey: 'third' })
    const webhook = one.webhooks.create(
      { url: receiver.url, events: ['contact.created'], description: 'mine' },
      { accountKey: 'third' },
    )
    const record = one.records.create('contact', { firstName: 'Zoë' }, { accountKey: 'third' })
    await one.clock.advance('30s')
    await one.close()
    const two = await start({ database })
    expect(two.webhooks.get(webhook.id)).toEqual(webhook)
    expect(two.records.list('contact', { accountKey: 'third' })).toEqual([record])
    expect((await call(two, 'GET /api/sales/contacts', { token })).json).toEqual([record])
    expect(two.deliveries.list()).toMatchObject([{ status: 'pending', attempts: [{ number: 1 }, { number: 2 }] }])
    receiver.answers = [200]
    await two.clock.next()
    expect(two.deliveries.list()).toMatchObject([{ status: 'success', attempts: [{}, {}, { number: 3 }] }])
    expect(receiver.received.map(({ body }) => String(body))).toEqual(
      new Array(3).fill(String(receiver.received[0]?.body)),
    )
  })

  it('repeats an attempt that a closing cut off, with the same number', async () => {
    const database = openSqlite(await makeFile())
    onTestFinished(async () => database.close())
    const receiver = await sink(Date, 0, 200)
    const one = await startEmulator({ clock: 'manual', logger: quiet, database })
    one.webhooks.create({ url: receiver.url, events: ['contact.created'] })
    one.records.create('contact')
    await until(() => receiver.received.length === 1)
    await one.close()
    const two = await start({ database })
    await two.clock.advance(0)
    expect(two.deliveries.list()).toMatchObject([{ status: 'success', attempts: [{ number: 1 }] }])
    expect(receiver.received).toHaveLength(2)
  })

  it('is released on closing, and not written to any more', async () => {
    const file = await makeFile()
    const database = openSqlite(file)
    const one = await startEmulator({ logger: quiet, database })
    expect(() => openSqlite(file, { busyTimeoutMs: 0 })).toThrow()
    await one.close()
    expect(() => one.records.create('contact')).toThrow(expect.objectContaining({ code: 'emulator_refused' }))
    const other = openSqlite(file)
    expect(other.prepare("SELECT id FROM entries WHERE kind = 'account'").all()).toHaveLength(2)
    other.close()
    database.close()
  })

  it('forgets its content at a reset, and keeps later events', async () => {
    const database = openSqlite(await makeFile())
    onTestFinished(async () => database.close())
    const receiver = await sink(Date, 500)
    const one = await startEmulator({ clock: 'manual', logger: quiet, database })
    one.webhooks.create({ url: receiver.url, events: ['sync.failed'] })
    one.events.emit({ type: 'sync.failed' })
    one.reset()
    one.webhooks.create({ url: receiver.url, events: ['sync.failed'] })
    one.events.emit({ type: 'sync.failed' })
    await one.clock.advance(0)
    const [delivery] = one.deliveries.list()
    one.webhooks.pause(delivery?.webhookId ?? '')
    one.deliveries.resend(delivery?.id ?? '', { body: '{}', sign: 'stale-bytes' })
    await one.close()
    const two = await start({ database })
    expect(two.deliveries.list().map(({ signing }) => signing)).toEqual(['valid', 'stale-bytes'])
    expect(two.webhooks.list()).toHaveLength(1)
    two.webhooks.resume(delivery?.webhookId ?? '')
    await two.clock.advance(0)
    const [original, last] = receiver.received.slice(-2)
    expect([String(last?.body), last?.headers['x-service-signature']]).toEqual([
      '{}',
      original?.headers['x-service-signature'],
    ])
  })

  it('continues with a manual clock at its time', async () => {
    const database = openSqlite(await makeFile())
    onTestFinished(async () => database.close())
    const one = await startEmulator({ clock: 'manual', logger: quiet, database })
    await one.clock.advance('5h')
    const at = one.clock.now()
    await one.close()
    expect((await start({ database })).clock.now()).toBe(at)
  })

  it('that is not of this version is refused', async () => {
    const database = openSqlite(':memory:')
    database.exec('CREATE TABLE emulator (version INTEGER NOT NULL); INSERT INTO emulator VALUES (99)')
    await expect(startEmulator({ database })).rejects.toMatchObject({
      code: 'database_unusable',
      message: expect.stringContaining('99'),
    })
    database.close()
  })
})

import { describe, expect, it } from 'vitest'
import type { FeedMessage } from '../../tools/emulator/feed.ts'
import { LIMITS } from '../../tools/emulator/service.ts'
import { makeDatabase, makeService, quiet } from './support.ts'

const FIELDS = { url: 'http://127.0.0.1:1/', events: ['a.b', 'deal.created'], active: false }
const KEYS = ['acme', 'globex']

describe('the service', () => {
  it('has its limits', () => {
    expect(LIMITS).toEqual({
      ...{ bodyBytes: 2 ** 20, webhooksPerAccount: 200, records: 50_000 },
      ...{
        deliveriesKept: 10_000,
        deliveriesPending: 50_000,
        deliveryBytes: 2 ** 28,
        inFlight: 64,
        inFlightPerWebhook: 8,
      },
    })
  })

  it.each([
    [false, 8],
    [true, 1],
  ])('makes attempts for a webhook concurrently, unless they are ordered: %s', (ordered, count) => {
    const { webhooks, events, engine } = makeService({ ordered })
    webhooks.create('acme', { ...FIELDS, active: true })
    events.emit('acme', { type: 'a.b' }, 20)
    expect(engine.inFlight).toBe(count)
  })

  it('has another boot id each time, or the same for the same seed', () => {
    const bootIds = [
      makeService(),
      makeService(),
      makeService({ seed: 1 }),
      makeService({ seed: 1 }),
      makeService({ seed: 2 }),
    ]
    const [one, two, seeded, again, other] = bootIds.map(({ bootId }) => bootId)
    expect(one).toMatch(/^[0-9a-f]{16}$/)
    expect([new Set([one, two, seeded, other]).size, again]).toEqual([4, seeded])
  })

  it('resets everything to the accounts of its start, and says so', () => {
    const options = {
      accounts: [{ key: 'third', email: 't@test', password: 'p' }],
      rateLimit: '1/60s',
      loginRateLimit: '1/60s',
    }
    const service = makeService({ ...options, assume: { A31: 'kept', A33: 'kept' } })
    const { accounts, webhooks, records, events, log, faults, rate, loginRate, engine, feed } = service
    accounts.add({ key: 'fourth', email: 'f@test', password: 'p' })
    const { id } = webhooks.create('acme', FIELDS)
    service.deleteWebhook('acme', webhooks.create('acme', FIELDS).id)
    records.create('acme', 'contact', {})
    events.emit('acme', { type: 'a.b' })
    faults.addAnswer({ answer: '500', count: 1, delayMs: 0 })
    rate.take('a')
    loginRate.take('a')
    const messages: FeedMessage[] = []
    feed.subscribe((message) => messages.push(message))
    service.reset()
    expect(accounts.list().map(({ key }) => key)).toEqual([...KEYS, 'third'])
    expect([webhooks.list(), records.size, log.size, faults.answers, engine.nextDueAt]).toEqual([
      [],
      0,
      0,
      [],
      undefined,
    ])
    expect(() => webhooks.mustHaveLog('acme', id)).toThrow('there is no such webhook')
    expect([rate.take('a').isExceeded, loginRate.take('a').isExceeded]).toEqual([false, false])
    expect(messages).toEqual([{ type: 'reset' }])
  })
})

describe('the service on a database', () => {
  it('is empty after a reset, in the next process too', async () => {
    const database = makeDatabase()
    const assume = { A31: 'kept', A33: 'kept' } as const
    const one = makeService({ database, assume })
    one.accounts.add({ key: 'third', email: 't@test', password: 'p' })
    one.webhooks.create('acme', FIELDS)
    const gone = one.webhooks.create('acme', FIELDS)
    one.records.create('acme', 'contact', { _id: 'x' })
    one.events.emit('acme', { type: 'a.b' })
    one.deleteWebhook('acme', gone.id)
    one.webhooks.mustHaveLog('acme', gone.id)
    one.reset()
    await one.close()
    const two = makeService({ database, assume })
    expect(two.accounts.list().map(({ key }) => key)).toEqual(KEYS)
    expect([two.webhooks.list(), two.records.size, two.log.size]).toEqual([[], 0, 0])
    expect(() => two.webhooks.mustHaveLog('acme', gone.id)).toThrow('there is no such webhook')
  })

  it('makes no id of a seed twice', async () => {
    const database = makeDatabase()
    const ids: string[] = []
    for (let boot = 0; boot < 3; boot++) {
      const { webhooks, bootId, close } = makeService({ database, seed: 7 })
      ids.push(webhooks.create('acme', FIELDS).id, bootId)
      await close()
    }
    expect(new Set(ids).size).toBe(6)
  })

  it('changes the user and password of an account to those in its options', async () => {
    const database = makeDatabase()
    const account = { key: 'shop', email: 'old@shop.test', password: 'old' }
    await makeService({ database, accounts: [account] }).close()
    for (const changed of [
      { ...account, password: 'new' },
      { ...account, email: 'new@shop.test' },
      { ...account, email: 'newer@shop.test', password: 'newer' },
    ]) {
      const { accounts, close } = makeService({ database, accounts: [changed] })
      expect(accounts.find('shop')).toEqual(changed)
      await close()
      const { accounts: read, close: end } = makeService({ database })
      expect(read.find('shop')).toEqual(changed)
      await end()
    }
  })

  it('starts a manual clock at its last time, or at the system time if that is later', async () => {
    const database = makeDatabase()
    const one = makeService({ database })
    expect(Math.abs(one.clock.now() - Date.now())).toBeLessThan(10_000)
    await one.clock.advance('30d')
    const last = one.clock.now()
    await one.close()
    const two = makeService({ database })
    expect(two.clock.now()).toBe(last)
    await two.close()
    database.exec("UPDATE entries SET value = '1000' WHERE id = 'clock'")
    expect(Math.abs(makeService({ database }).clock.now() - Date.now())).toBeLessThan(10_000)
  })

  it('keeps the time of each attempt, in case it is killed before the clock has stopped', async () => {
    const database = makeDatabase()
    const timeOf = () => database.prepare("SELECT value FROM entries WHERE id = 'clock'").all()[0]?.value
    const { clock, webhooks, events, feed } = makeService({ database })
    webhooks.create('acme', { ...FIELDS, active: true })
    const times: unknown[] = []
    feed.subscribe(({ type }) => {
      if (type === 'attempt') times.push(timeOf())
    })
    const begin = clock.now()
    events.emit('acme', { type: 'a.b' })
    await clock.advance('1m')
    expect(times).toEqual([begin, begin + 30_000].map(String))
    expect(timeOf()).toBe(String(begin + 60_000))
  })

  it('goes on if the time cannot be written, with a warning', async () => {
    const database = makeDatabase()
    const warnings: unknown[] = []
    const logger = { ...quiet, warn: (_fields: object, message?: string) => warnings.push(message) }
    const { clock } = makeService({ database, logger })
    const begin = clock.now()
    database.exec(
      "CREATE TRIGGER full BEFORE INSERT ON entries WHEN new.id = 'clock' BEGIN SELECT RAISE(ABORT, 'no room'); END",
    )
    await clock.advance(1_000)
    expect(clock.now()).toBe(begin + 1_000)
    expect(warnings).toEqual([expect.stringMatching(/^the time could not be written to the database: .*no room/)])
  })

  it('that is damaged is refused, and released', () => {
    const database = makeDatabase()
    database.exec(`
      CREATE TABLE emulator (version INTEGER NOT NULL);
      INSERT INTO emulator VALUES (1);
      CREATE TABLE entries (
        place INTEGER PRIMARY KEY, kind TEXT NOT NULL, id TEXT NOT NULL, value TEXT NOT NULL, UNIQUE (kind, id));
      INSERT INTO entries (kind, id, value) VALUES ('webhook', 'w1', '{"id"');
    `)
    const damaged = expect.objectContaining({ code: 'database_unusable', message: expect.stringContaining('damaged') })
    for (let tried = 0; tried < 2; tried++) expect(() => makeService({ database })).toThrow(damaged)
    database.exec('DELETE FROM entries')
    expect(makeService({ database }).webhooks.list()).toEqual([])
  })
})

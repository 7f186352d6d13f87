import { describe, expect, it } from 'vitest'
import type { FeedMessage } from '../../tools/emulator/feed.ts'
import { makeDatabase, makeService } from './support.ts'

const FIELDS = { url: 'http://127.0.0.1:1/', events: ['a.b', 'deal.created'], active: false }
const KEYS = ['acme', 'globex']

describe('the service', () => {
  it.each([
    [false, 8],
    [true, 1],
  ])('makes attempts for a webhook concurrently, unless they are ordered: %s', (ordered, count) => {
    const { webhooks, events, engine } = makeService({ ordered })
    webhooks.create('acme', { ...FIELDS, active: true })
    events.emit('acme', { type: 'a.b' }, 20)
    expect(engine.inFlight).toBe(count)
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
})

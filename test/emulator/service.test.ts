import { describe, expect, it } from 'vitest'
import type { FeedMessage } from '../../tools/emulator/feed.ts'
import type { Service } from '../../tools/emulator/service.ts'
import { makeDatabase, makeService } from './support.ts'

const FIELDS = { url: 'http://127.0.0.1:1/', events: ['a.b', 'deal.created'], active: false }

describe('the service on a database', () => {
  it('resets everything to the accounts of its start, says so, and is as empty in the next process', async () => {
    const database = makeDatabase()
    const options = { database, assume: { A31: 'kept', A33: 'kept' } } as const
    const account = { key: 'third', email: 't@test', password: 'p' }
    const limits = { rateLimit: '1/60s', loginRateLimit: '1/60s' }
    const one = makeService({ ...options, ...limits, accounts: [account] })
    const { accounts, webhooks, records, events, faults, rate, loginRate, engine, feed } = one
    accounts.add({ key: 'fourth', email: 'f@test', password: 'p' })
    const { id } = webhooks.create('acme', FIELDS)
    webhooks.create('acme', FIELDS)
    records.create('acme', 'contact', {})
    events.emit('acme', { type: 'a.b' })
    one.deleteWebhook('acme', id)
    webhooks.mustHaveLog('acme', id)
    faults.addAnswer({ answer: '500', count: 1, delayMs: 0 })
    rate.take('a')
    loginRate.take('a')
    const messages: FeedMessage[] = []
    feed.subscribe((message) => messages.push(message))
    one.reset()
    expect(messages).toEqual([{ type: 'reset' }])
    expect([faults.answers, engine.nextDueAt]).toEqual([[], undefined])
    expect([rate.take('a').isExceeded, loginRate.take('a').isExceeded]).toEqual([false, false])
    const expectEmpty = (service: Service, keys: readonly string[]) => {
      expect(service.accounts.list().map(({ key }) => key)).toEqual(keys)
      expect([service.webhooks.list(), service.records.count(), service.log.size]).toEqual([[], 0, 0])
      expect(() => service.webhooks.mustHaveLog('acme', id)).toThrow('there is no such webhook')
    }
    expectEmpty(one, ['acme', 'globex', 'third'])
    await one.close()
    expectEmpty(makeService(options), ['acme', 'globex', 'third'])
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
    for (const change of [{ password: 'new' }, { email: 'new@shop.test' }]) {
      await makeService({ database, accounts: [{ ...account, ...change }] }).close()
      const { accounts, close } = makeService({ database })
      expect(accounts.find('shop')).toEqual({ ...account, ...change })
      await close()
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

import { startEmulator } from 'postern/emulator'
import { openSqlite } from 'postern/sqlite'
import { manualClock } from 'postern/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { quiet, sink, start } from './support.ts'

describe('an emulator in code', () => {
  it('answers without a port', async () => {
    await using crm = await startEmulator({ port: false, logger: quiet })
    const response = await crm.fetch(new Request(`${crm.url}/_emulator/ready`))
    expect(await response.json()).toEqual({ type: 'ready', url: crm.url })
  })

  it('uses its port, and reports if it is taken', async () => {
    const crm = await start()
    const port = Number(new URL(crm.url).port)
    await expect(startEmulator({ port })).rejects.toMatchObject({ code: 'port_in_use' })
    await crm.close()
    const again = await startEmulator({ port })
    expect(new URL(again.url).port).toBe(String(port))
    await again.close()
  })

  it.each([
    [{ prot: 1 }, 'option_unknown'],
    [{ port: -1 }, 'option_invalid'],
    [{ assume: { A41: 'x' } }, 'option_invalid'],
    [7, 'option_invalid', 'startEmulator: Invalid'],
    [{ host: '192.0.2.1' }, 'port_in_use', 'Give an address of this machine as host'],
  ])('refuses options that cannot work: %j, %s', async (options, code, told = 'startEmulator') => {
    await expect(startEmulator(options as object)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(told),
    })
  })

  it('makes the same ids for the same seed, and never the same secret', async () => {
    const ids = async () => {
      const crm = await start({ seed: 7 })
      const { id, secret } = crm.webhooks.create({ url: 'http://localhost/', events: ['sync.failed'] })
      return { id, secret, event: crm.events.emit({ type: 'contact.created' }).id }
    }
    const [one, two] = [await ids(), await ids()]
    expect([two.id, two.event]).toEqual([one.id, one.event])
    expect(two.secret).not.toBe(one.secret)
  })

  it('accepts a chosen secret, and refuses an impossible one', async () => {
    const crm = await start()
    const fields = { url: 'http://localhost/', events: ['sync.failed'] }
    expect(crm.webhooks.create(fields, { secret: 'mine' }).secret).toBe('mine')
    expect(() => crm.webhooks.create(fields, { secret: ' ' })).toThrow(
      expect.objectContaining({ code: 'secret_unusable' }),
    )
  })

  it('a listener that throws ends nothing', async () => {
    const errors: unknown[] = []
    const crm = await start({ logger: { ...quiet, error: ({ err }) => errors.push(err) } })
    const stop = crm.subscribe(() => {
      throw new Error('mine')
    })
    const receiver = await sink()
    crm.webhooks.create({ url: receiver.url, events: ['contact.created'] })
    crm.records.create('contact')
    await crm.clock.advance(0)
    stop()
    expect(receiver.received).toHaveLength(1)
    expect(errors).not.toEqual([])
  })

  it('releases its database if it cannot listen', async () => {
    const database = openSqlite(':memory:')
    onTestFinished(async () => database.close())
    const crm = await start()
    await expect(startEmulator({ database, port: Number(new URL(crm.url).port) })).rejects.toMatchObject({
      code: 'port_in_use',
    })
    expect((await start({ database })).webhooks.list()).toEqual([])
  })

  it('goes on with the attempts that are due, from its start', async () => {
    const database = openSqlite(':memory:')
    onTestFinished(async () => database.close())
    const options = { database, port: false, assume: { A31: 'kept' }, logger: quiet } as const
    const one = await startEmulator(options)
    const { id } = one.webhooks.create({ url: 'http://127.0.0.1:1/', events: ['a.b'], active: false })
    one.events.emit({ type: 'a.b' })
    database.exec(`UPDATE entries SET value = replace(value, '"active":false', '"active":true') WHERE id = '${id}'`)
    await one.close()
    const two = await startEmulator(options)
    expect(two.deliveries.list()).toMatchObject([{ isInFlight: true }])
    await two.close()
  })

  it('closes once, however often it is called, with its port', async () => {
    const crm = await start()
    const closing = [crm.close(), crm.close(), crm[Symbol.asyncDispose]()]
    expect(new Set(closing).size).toBe(1)
    await Promise.all(closing)
    await expect(fetch(`${crm.url}/_emulator/ready`)).rejects.toThrow()
    expect(() => crm.records.create('contact')).toThrow('the emulator has been closed')
  })

  it('has a host name of loopback if it has no port', async () => {
    const crm = await start({ port: false })
    expect(crm.url).toBe('http://emulator.localhost')
    await expect(fetch(`${crm.url}/_emulator/ready`)).rejects.toThrow()
    const { status } = await crm.fetch(new Request(`${crm.url}/_emulator/ready`, { headers: { host: 'evil.test' } }))
    expect(status).toBe(403)
  })

  it('calls listeners until they are removed, and resets', async () => {
    const crm = await start({ port: false, clock: manualClock() })
    const types: string[] = []
    const stop = crm.subscribe(({ type }) => types.push(type))
    crm.records.create('contact')
    crm.reset()
    await crm.clock.advance(1)
    stop()
    crm.reset()
    expect([types, crm.records.list('contact')]).toEqual([['reset', 'clock'], []])
  })
})

import { startEmulator } from 'postern/emulator'
import { manualClock } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { makeDatabase, quiet, start } from './support.ts'

describe('an emulator in code', () => {
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

  it('releases its database if it cannot listen', async () => {
    const database = makeDatabase()
    const crm = await start()
    await expect(startEmulator({ database, port: Number(new URL(crm.url).port) })).rejects.toMatchObject({
      code: 'port_in_use',
    })
    expect((await start({ database })).webhooks.list()).toEqual([])
  })

  it('goes on with the attempts that are due, from its start', async () => {
    const database = makeDatabase()
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

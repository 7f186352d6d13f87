import { startEmulator } from 'postern/emulator'
import { manualClock } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { makeDatabase, quiet, start } from './support.ts'

describe('an emulator in code', () => {
  it('releases its database if it cannot listen', async () => {
    const database = makeDatabase()
    const crm = await start()
    await expect(startEmulator({ database, port: Number(new URL(crm.url).port) })).rejects.toMatchObject({
      code: 'port_in_use',
    })
    expect((await start({ database })).webhooks.list()).toEqual([])
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

  it('calls listeners until they are removed, logs the error of one that throws, and resets', async () => {
    const logged: unknown[] = []
    const logger = { ...quiet, error: (fields: object) => logged.push(fields) }
    const crm = await start({ port: false, clock: manualClock(), logger })
    const types: string[] = []
    const err = new Error('mine')
    const stopThrowing = crm.subscribe(() => {
      throw err
    })
    const stop = crm.subscribe(({ type }) => types.push(type))
    crm.records.create('contact')
    crm.reset()
    stopThrowing()
    await crm.clock.advance(1)
    stop()
    crm.reset()
    expect([types, crm.records.list('contact'), logged]).toEqual([['reset', 'clock'], [], [{ err }]])
  })
})

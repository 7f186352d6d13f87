import { expect, it } from 'vitest'
import { LIMITS } from '../../src/emulator/service.ts'
import { call, start } from './support.ts'

it('accepts 200 webhooks per account', async () => {
  const crm = await start()
  const fields = { url: 'http://localhost/', events: ['sync.failed'] }
  for (let made = 0; made < LIMITS.webhooksPerAccount; made++) crm.webhooks.create(fields)
  expect(() => crm.webhooks.create(fields)).toThrow('200 webhooks per account')
  expect(crm.webhooks.create(fields, { accountKey: 'globex' }).accountKey).toBe('globex')
})

it('answers 503 to events and changes above 50,000 pending deliveries, and changes nothing', async () => {
  const crm = await start({ assume: { A31: 'kept' } })
  for (let made = 0; made < 100; made++)
    crm.webhooks.create({ url: 'http://localhost/', events: ['m.created'], active: false })
  crm.events.emitMany({ type: 'm.created' }, 499)
  expect((await call(crm, 'POST /_emulator/events', { body: { type: 'm.created', count: 2 } })).status).toBe(503)
  expect((await call(crm, 'POST /_emulator/events', { body: { type: 'm.created' } })).status).toBe(202)
  expect((await call(crm, 'POST /_emulator/records/m', { body: {} })).status).toBe(503)
  expect(crm.records.list('m')).toEqual([])
  expect(crm.deliveries.list()).toHaveLength(50_000)
}, 120_000)

it('answers 503 to events above 256 MiB of pending bodies, and makes none of them', async () => {
  const crm = await start({ assume: { A31: 'kept' } })
  crm.webhooks.create({ url: 'http://localhost/', events: ['m.created'], active: false })
  const send = async (count: number) =>
    call(crm, 'POST /_emulator/events', { body: { type: 'm.created', data: 'x'.repeat(1_000_000), count } })
  expect(await send(300)).toMatchObject({ status: 503, text: expect.stringContaining('256 MiB') })
  expect(crm.deliveries.list()).toEqual([])
  expect((await send(200)).status).toBe(202)
  expect((await send(100)).status).toBe(503)
  expect(crm.deliveries.list()).toHaveLength(200)
}, 60_000)

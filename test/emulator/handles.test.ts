import { expect, it } from 'vitest'
import { start } from './support.ts'

const FIELDS = { url: 'http://127.0.0.1:1/', events: ['a.b', 'deal.created', 'deal.deleted'], active: false }

it('in code, an account other than the first is named by its key', async () => {
  const crm = await start({ port: false, assume: { A31: 'kept' } })
  const other = { accountKey: 'globex' }
  crm.webhooks.create(FIELDS)
  expect(crm.webhooks.list(other)).toEqual([])
  const webhook = crm.webhooks.create(FIELDS, other)
  expect(crm.webhooks.list(other)).toEqual([webhook])
  const made = crm.records.create('deal', { size: 1 }, other)
  expect(crm.records.update('deal', made._id, { size: 2 }, other)).toEqual({ ...made, size: 2 })
  expect(crm.records.get('deal', made._id, other)).toEqual({ ...made, size: 2 })
  expect(crm.records.list('deal')).toEqual([])
  crm.records.delete('deal', made._id, other)
  expect(crm.records.list('deal', other)).toEqual([])
  crm.events.emitMany({ type: 'a.b' }, 2, other)
  const of = (eventType: string) => ({ accountKey: 'globex', eventType })
  expect(crm.deliveries.list()).toMatchObject(['deal.created', 'deal.deleted', 'a.b', 'a.b'].map(of))
})

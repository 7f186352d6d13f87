import { createReceiver } from 'postern'
import { type Contact, contact } from 'postern/models'
import { events } from 'postern/testing'
import { describe, expect, it } from 'vitest'

const FULL = {
  _id: '64b000000000000000000001',
  firstName: 'Zoë',
  lastName: 'Okafor',
  email: 'zoe@example.test',
  status: 'active',
}

describe('the contact schema', () => {
  it.each<[string, object]>([
    ['the documented fields', FULL],
    ['null in every other field', { _id: '1', firstName: null, lastName: null, email: null, status: null }],
    ['texts that look like nothing', { _id: '1', firstName: '', email: 'not an address', status: 'Whatever' }],
    [
      'further fields, which are kept',
      { ...FULL, phone: '+1', tags: ['a', null], owner: { _id: '2' }, constructor: 'x' },
    ],
  ])('accepts %s', (_what, value) => expect(contact.parse(value)).toEqual(value))

  it.each<[string, unknown, string]>([
    ['no id', { firstName: 'Zoë' }, '_id'],
    ['an id that is a number', { ...FULL, _id: 7 }, '_id'],
    ['an id only inside __proto__', JSON.parse('{"__proto__":{"_id":"1"}}'), '_id'],
    ['a number for a text', { ...FULL, email: 7 }, 'email'],
    ['nothing', undefined, ''],
    ['a list', [], ''],
  ])('refuses %s', (_what, value, path) => {
    const { success, error } = contact.safeParse(value)
    expect(success).toBe(false)
    expect(error?.issues.map((issue) => issue.path.join('.'))).toEqual([path])
  })

  it('changes no prototype', () => {
    const parsed = contact.parse(JSON.parse('{"_id":"1","__proto__":{"isAdmin":true}}'))
    expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype)
    expect('isAdmin' in parsed).toBe(false)
  })

  it('passes the further fields to handlers, and leaves deleted records alone', async () => {
    const seen: object[] = []
    const receiver = createReceiver({ secret: 'secret', models: { contact } }).on('contact.*', ({ data }) =>
      seen.push(data.record),
    )
    const created: Partial<Contact> & { readonly phone: string } = { ...FULL, phone: '+1' }
    expect(await receiver.dispatch(events.contact.created(created))).toMatchObject({ outcome: 'handled' })
    expect(await receiver.dispatch(events.contact.deleted('1'))).toMatchObject({ outcome: 'handled' })
    expect(seen).toEqual([{ ...FULL, phone: '+1' }, { _id: '1' }])
  })
})

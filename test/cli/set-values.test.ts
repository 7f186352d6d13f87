import { beforeEach, describe, expect, it } from 'vitest'
import { setValues } from '../../tools/cli/input/set-values.ts'

let event: {
  readonly id: string
  readonly data: { record: { [name: string]: unknown }; list: readonly unknown[]; empty: object; none: unknown }
}
beforeEach(() => {
  const record = { email: 'zoe@example.test', score: 1, address: { city: 'Bonn', zip: '53111' } }
  event = { id: 'evt_1', data: { record, list: [1], empty: {}, none: null } }
})

describe('a setting', () => {
  it.each([
    ['score=12.5', 'score', 12.5],
    ['score=high', 'score', 'high'],
    ['email=12', 'email', '12'],
    ['email=null', 'email', null],
    ['note=a=b', 'note', 'a=b'],
    ['tags=["a"]', 'tags', ['a']],
    ['address={"city":"Ulm"}', 'address', { city: 'Ulm' }],
    ['constructor=own', 'constructor', 'own'],
  ])('takes JSON as such, and leaves text text: %s', (setting, name, value) => {
    setValues(event, [`data.record.${setting}`])
    const property = { value, writable: true, enumerable: true, configurable: true }
    expect(Object.getOwnPropertyDescriptor(event.data.record, name)).toEqual(property)
  })

  it('may be followed by others, which see what it has set', () => {
    setValues(event, ['id=evt_2', 'data.record.owner={}', 'data.record.owner.name=Ada', 'accountKey=globex'])
    expect(event).toMatchObject({ id: 'evt_2', accountKey: 'globex', data: { record: { owner: { name: 'Ada' } } } })
  })

  it.each([
    ['type=x', 'type cannot be set. The type is the first argument of the command.'],
    ['id', 'id cannot be set. Write it as path=value: data.record.email=zoe@example.test.'],
    ['=1', '=1 cannot be set. Write it as path=value: data.record.email=zoe@example.test.'],
    ['data.=1', 'data. cannot be set. There is nothing between two of its dots, or at an end.'],
    ['dta.record.email=1', 'dta.record.email cannot be set. Did you mean data?'],
    ['email=1', 'email cannot be set. Did you mean data.record.email?'],
    ['city=1', 'city cannot be set. Did you mean data.record.address.city?'],
    ['none.zip=1', 'none.zip cannot be set. Did you mean data.record.address.zip?'],
    ['timestamp=2026-02-30T12:00:00Z', 'timestamp cannot be set. It is a time'],
    ['timestamp=yesterday', 'timestamp cannot be set. It is a time: 2025-01-31T12:00:00Z; or write how long'],
    ['id=', 'id cannot be set. It must not be empty.'],
    ['address.zap=1', 'address.zap cannot be set. The event has id, timestamp, accountKey, data; what happened is in'],
    [
      'data.record.emial=1',
      'data.record.emial cannot be set. Did you mean data.record.email? A field of that very name',
    ],
    [
      'data.email=1',
      'data.email cannot be set. Did you mean data.record.email? A field beside the record goes with --data.',
    ],
    ['data.recrod.email=1', 'data.recrod.email cannot be set. Did you mean data.record?'],
    ['data.record.email.x=1', 'data.record.email.x cannot be set. data.record.email has no fields.'],
    ['data.list.0=1', 'data.list.0 cannot be set. data.list is a list: give it whole, as JSON.'],
    [
      'data.record.owner.name=1',
      'data.record.owner.name cannot be set. data.record has email, score, address. What has',
    ],
    ['data.empty.owner.city=1', 'data.empty.owner.city cannot be set. Did you mean data.record.address.city?'],
  ])('is refused with advice: %s', (setting, message) => {
    const before = structuredClone(event)
    const refusal = { message: expect.stringContaining(`--set ${message}`), exitCode: 2 }
    expect(() => setValues(event, [setting])).toThrow(expect.objectContaining(refusal))
    expect(event).toEqual(before)
  })
})

it('refuses a path into an empty object, with the form for a whole one', () => {
  const advice =
    'data.empty has no fields. What has fields of its own is given whole: --set data.empty.owner={"…":"…"}.'
  expect(() => setValues(event, ['data.empty.owner.name=1'])).toThrow(advice)
})

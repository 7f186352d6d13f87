import { describe, expect, it } from 'vitest'
import { openJournal } from '../../tools/emulator/journal.ts'
import { createIds, createRandom } from '../../tools/emulator/random.ts'
import { type RecordChange, Records } from '../../tools/emulator/records.ts'
import { makeDatabase } from './support.ts'

function makeRecords(max = 3) {
  const database = makeDatabase()
  const journal = openJournal(database)
  const ids = createIds(createRandom('seed'), 'hex')
  const changes: RecordChange[] = []
  let isRefused = false
  const announce = (change: RecordChange, write: () => void) => {
    if (isRefused) throw new Error('too many')
    changes.push(change)
    write()
  }
  const open = () => new Records({ journal, ids, max, announce })
  const refuse = () => {
    isRefused = true
  }
  return { records: open(), open, changes, refuse }
}

const refusal = (kind: string) => expect.objectContaining({ kind })

describe('records', () => {
  it('are created, changed and deleted, and each change is announced with the data of its event', () => {
    const { records, changes } = makeRecords()
    const made = records.create('a', 'contact', { name: 'Zoë', size: 1 })
    expect(made).toEqual({ _id: expect.stringMatching(/^[0-9a-f]{24}$/), name: 'Zoë', size: 1 })
    const { _id } = made
    expect(records.update('a', 'contact', _id, { size: 2, _id })).toEqual({ _id, name: 'Zoë', size: 2 })
    expect([records.get('a', 'contact', _id), records.size]).toEqual([{ _id, name: 'Zoë', size: 2 }, 1])
    records.delete('a', 'contact', _id)
    expect([records.list('a', 'contact'), records.size]).toEqual([[], 0])
    const about = { accountKey: 'a', model: 'contact' }
    expect(changes).toEqual([
      { ...about, action: 'created', record: made },
      { ...about, action: 'updated', record: { _id, name: 'Zoë', size: 2 } },
      { ...about, action: 'deleted', record: { _id } },
    ])
  })

  it.each(['other', '', 7, null])('keep their id: an update to the id %j is refused', (_id) => {
    const { records, changes } = makeRecords()
    records.create('a', 'contact', { _id: 'x', size: 1 })
    expect(() => records.update('a', 'contact', 'x', { _id, size: 2 })).toThrow(refusal('invalid'))
    expect([records.get('a', 'contact', 'x'), changes.length]).toEqual([{ _id: 'x', size: 1 }, 1])
  })

  it('are of one account and one model', () => {
    const { records } = makeRecords(9)
    for (const account of ['a', 'b'])
      for (const model of ['contact', 'deal']) records.create(account, model, { _id: 'x', of: account + model })
    expect(records.list('b', 'deal')).toEqual([{ _id: 'x', of: 'bdeal' }])
    expect(records.get('a', 'deal', 'x')).toEqual({ _id: 'x', of: 'adeal' })
    records.delete('a', 'deal', 'x')
    expect(records.get('b', 'deal', 'x')).toEqual({ _id: 'x', of: 'bdeal' })
    expect(records.size).toBe(3)
    records.clear()
    expect(records.list('b', 'deal')).toEqual([])
  })

  it.each(['', 'x'.repeat(257), 7, null, {}])('refuse the id %j', (_id) => {
    expect(() => makeRecords().records.create('a', 'contact', { _id })).toThrow(refusal('invalid'))
  })

  it('get a generated id for one that is undefined', () => {
    const { records } = makeRecords()
    const made = records.create('a', 'contact', { _id: undefined, name: 'Zoë' })
    expect(records.list('a', 'contact')).toEqual([{ _id: expect.stringMatching(/^[0-9a-f]{24}$/), name: 'Zoë' }])
    expect(records.get('a', 'contact', made._id)).toEqual(made)
  })

  it('accept an id of 256 characters, and each id once', () => {
    const { records, changes } = makeRecords()
    records.create('a', 'contact', { _id: 'x'.repeat(256) })
    expect(() => records.create('a', 'contact', { _id: 'x'.repeat(256) })).toThrow(refusal('exists'))
    expect(changes).toHaveLength(1)
  })

  it.each(['', '1a', 'a-b', 'a.b', '_a', 'x'.repeat(101)])('refuse the model %j for every call', (model) => {
    const { records } = makeRecords()
    for (const call of [
      () => records.list('a', model),
      () => records.get('a', model, 'x'),
      () => records.create('a', model, {}),
      () => records.update('a', model, 'x', {}),
      () => records.delete('a', model, 'x'),
    ])
      expect(call).toThrow(refusal('invalid'))
    expect(records.create('a', 'x'.repeat(100), {})).toBeDefined()
  })

  it('that do not exist cannot be read, changed or deleted', () => {
    const { records, changes } = makeRecords()
    for (const call of [
      () => records.get('a', 'contact', 'x'),
      () => records.update('a', 'contact', 'x', {}),
      () => records.delete('a', 'contact', 'x'),
    ])
      expect(call).toThrow(refusal('unknown'))
    expect(changes).toEqual([])
  })

  it('are refused above the limit, until one is deleted', () => {
    const { records, changes } = makeRecords(2)
    const first = records.create('a', 'contact', {})
    records.create('b', 'deal', {})
    expect(() => records.create('a', 'contact', {})).toThrow(refusal('full'))
    expect(changes).toHaveLength(2)
    records.update('a', 'contact', first._id, { name: 'Zoë' })
    records.delete('a', 'contact', first._id)
    expect(records.create('a', 'contact', {})).toBeDefined()
  })

  it('do not change if a change cannot be announced', () => {
    const { records, open, refuse } = makeRecords()
    const made = records.create('a', 'contact', { name: 'Zoë' })
    refuse()
    for (const call of [
      () => records.create('a', 'contact', {}),
      () => records.update('a', 'contact', made._id, { name: 'x' }),
      () => records.delete('a', 'contact', made._id),
    ])
      expect(call).toThrow('too many')
    expect([records.list('a', 'contact'), open().list('a', 'contact')]).toEqual([[made], [made]])
  })
})

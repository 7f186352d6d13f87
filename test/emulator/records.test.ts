import { describe, expect, it } from 'vitest'
import { refusal, start } from './support.ts'

const open = async () => (await start({ port: false })).records

describe('records', () => {
  it.each(['other', '', 7, null])('keep their id: an update to the id %j is refused', async (_id) => {
    const records = await open()
    records.create('contact', { _id: 'x', size: 1 })
    expect(() => records.update('contact', 'x', { _id, size: 2 })).toThrow(refusal('invalid'))
    expect(records.list('contact')).toEqual([{ _id: 'x', size: 1 }])
  })

  it.each(['', 'x'.repeat(257), 7, null, {}])('refuse the id %j', async (_id) => {
    const records = await open()
    expect(() => records.create('contact', { _id })).toThrow(refusal('invalid'))
  })

  it('get a generated id for one that is undefined, or take one of 256 characters, once', async () => {
    const records = await open()
    const { _id } = records.create('contact', { _id: undefined })
    expect(_id).toMatch(/^[0-9a-f]{24}$/)
    records.create('contact', { _id: 'x'.repeat(256) })
    expect(() => records.create('contact', { _id: 'x'.repeat(256) })).toThrow(refusal('exists'))
    expect(records.list('contact')).toHaveLength(2)
  })

  it.each(['', '1a', 'a-b', 'a.b', '_a', 'x'.repeat(101)])('refuse the model %j for every call', async (model) => {
    const records = await open()
    for (const call of [
      () => records.list(model),
      () => records.get(model, 'x'),
      () => records.create(model, {}),
      () => records.update(model, 'x', {}),
      () => records.delete(model, 'x'),
    ])
      expect(call).toThrow(refusal('invalid'))
    records.create('x'.repeat(100))
  })

  it('are refused above 50,000, until one is deleted', async () => {
    const records = await open()
    const { _id } = records.create('contact')
    for (let made = 1; made < 50_000; made++) records.create('deal')
    expect(() => records.create('contact')).toThrow(refusal('full'))
    records.update('contact', _id, { name: 'Zoë' })
    records.delete('contact', _id)
    records.create('contact')
  })
})

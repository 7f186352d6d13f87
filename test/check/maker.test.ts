import { describe, expect, it } from 'vitest'
import { createMaker } from '../../tools/check/maker.ts'
import { SECRET } from './faulty/hand-written.ts'

const make = createMaker({ secret: SECRET, accountKey: 'acme' })

describe('the event of a check', () => {
  it('has an id, a record and an address that no other has, in this run or another', () => {
    const other = createMaker({ secret: SECRET, accountKey: 'acme' })
    const events = [make.event(), make.event(), other.event(), other.event()]
    const contacts = [make.contact(), make.contact(), other.contact(), other.contact()]
    expect(new Set(events.map(({ id }) => id)).size).toBe(4)
    expect(new Set(contacts.map(({ _id }) => _id)).size).toBe(4)
    expect(new Set(contacts.map(({ email }) => email)).size).toBe(4)
    const idOf = ({ id }: { readonly id: string }) => id.replace(/\d+$/, '')
    expect(new Set(events.map(idOf)).size).toBe(2) // those of one run begin alike, so that they can be deleted
  })

  it('belongs to a delivery only if a 2xx promises its work', () => {
    const event = make.event()
    expect(make.delivery(event).event).toEqual(event)
    expect(make.delivery('{"id": 1}').event).toEqual({ id: 1 })
    expect(make.delivery('no JSON').event).toBeUndefined()
    for (const changes of [{ signature: () => 'x' }, { bytes: Buffer.of(1) }, { contentEncoding: 'gzip' }])
      expect(make.delivery(make.event(), changes).event).toBeUndefined()
  })
})

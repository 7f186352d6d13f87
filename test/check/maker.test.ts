import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createMaker, FORGED, signWith } from '../../src/check/maker.ts'
import { SECRET } from './faulty/hand-written.ts'

const make = createMaker({ secret: SECRET, accountKey: 'acme' })
const signed = (body: Uint8Array | string, key = SECRET, algorithm = 'sha256') =>
  createHmac(algorithm, key).update(body).digest('hex')

describe('the event of a check', () => {
  it('is a created contact of now, of the given account', () => {
    const before = Date.now()
    const event = make.event()
    expect(Object.keys(event)).toEqual(['id', 'type', 'timestamp', 'accountKey', 'data'])
    expect(event).toMatchObject({ type: 'contact.created', accountKey: 'acme' })
    expect(event.data).toEqual({
      record: {
        _id: expect.stringMatching(/^[0-9a-f]{24}$/),
        firstName: 'Zoë',
        lastName: 'Check',
        email: expect.stringMatching(/^check\.[0-9a-f]{24}@example\.test$/),
        status: 'active',
      },
    })
    expect(Date.parse(event.timestamp)).toBeGreaterThanOrEqual(before)
    expect(Date.parse(event.timestamp)).toBeLessThanOrEqual(Date.now())
  })

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

  it('has the given fields instead of its own', () => {
    expect(make.event({ type: 'x.y', more: 1 })).toMatchObject({ type: 'x.y', more: 1, accountKey: 'acme' })
    expect(make.contact({ lastName: 'Other' })).toMatchObject({ lastName: 'Other', firstName: 'Zoë' })
  })
})

describe('a delivery of a check', () => {
  it('is what the service sends: JSON with its signature', () => {
    const event = make.event()
    const delivery = make.delivery(event)
    const { body, ...rest } = delivery
    expect(JSON.parse(Buffer.from(body).toString())).toEqual(event)
    expect(rest).toEqual({
      ...{ method: 'POST', signatureName: 'X-Service-Signature', signatures: [`sha256=${signed(body)}`] },
      ...{ contentType: 'application/json', contentEncoding: undefined, pieceSize: undefined, isChunked: false },
      ...{ pipe: '', event },
    })
  })

  it('has an event only if a 2xx promises its work', () => {
    expect(make.delivery('{"id": 1}').event).toEqual({ id: 1 })
    expect(make.delivery('no JSON').event).toBeUndefined()
    for (const changes of [{ fault: 'sha1' }, { bytes: Buffer.of(1) }, { contentEncoding: 'gzip' }] as const)
      expect(make.delivery(make.event(), changes).event).toBeUndefined()
  })

  it('differs from the same JSON written by a serializer, so that a receiver that does so is found', () => {
    const event = make.event()
    expect(Buffer.from(make.delivery(event).body).toString()).not.toBe(JSON.stringify(event))
  })

  it('takes a text or bytes as they are', () => {
    const bytes = Buffer.of(0, 0xff, 0x22)
    expect(make.delivery(bytes)).toMatchObject({ body: bytes, signatures: [`sha256=${signed(bytes)}`] })
    expect(make.delivery('{"a":1}').body).toEqual(Buffer.from('{"a":1}'))
  })

  it('signs with one header, several or none, of the right signature or of another algorithm', () => {
    const right = `sha256=${signed('x')}`
    expect(make.delivery('x', { signature: (given) => `${given}00` }).signatures).toEqual([`${right}00`])
    expect(make.delivery('x', { signature: () => ['a', 'b'] }).signatures).toEqual(['a', 'b'])
    expect(make.delivery('x', { signature: () => undefined }).signatures).toEqual([])
    expect(make.delivery('x', { fault: 'sha1' }).signatures).toEqual([`sha1=${signed('x', SECRET, 'sha1')}`])
  })

  it('sends other bytes than it signed', () => {
    expect(make.delivery('signed', { bytes: Buffer.from('sent') })).toMatchObject({
      body: Buffer.from('sent'),
      signatures: [`sha256=${signed('signed')}`],
    })
  })

  it('has a pipe only if a shell can make its signature', () => {
    const signature = (right: string) => right.slice(1)
    expect(make.delivery('x', { signature, pipe: ' | cut -c2-' }).pipe).toBe(' | cut -c2-')
    expect(make.delivery('x', { signature }).pipe).toBeUndefined()
    expect(make.delivery('x', { fault: 'sha1' }).pipe).toBeUndefined()
    expect(make.delivery('x', { bytes: Buffer.of(1) }).pipe).toBeUndefined()
  })

  it('has the given head', () => {
    const head = { contentType: 'text/plain', contentEncoding: 'gzip', pieceSize: 7, isChunked: true } as const
    expect(make.delivery('x', { ...head, signatureName: 'x-y', method: 'GET' })).toMatchObject({
      ...head,
      signatureName: 'x-y',
      method: 'GET',
    })
  })
})

describe('a forgery', () => {
  it('has the form of a signature and is the digest of nothing', () => {
    expect(make.delivery('x', FORGED).signatures).toEqual([`sha256=${'0'.repeat(64)}`])
  })

  it('is signed with another key, or with an empty one', () => {
    const event = make.event()
    const { body, signatures } = signWith(make, 'other', event)
    expect(JSON.parse(Buffer.from(body).toString())).toEqual(event)
    expect(signatures).toEqual([`sha256=${signed(body, 'other')}`])
    const other = signWith(make, '')
    expect(other.signatures).toEqual([`sha256=${signed(other.body, '')}`])
  })
})

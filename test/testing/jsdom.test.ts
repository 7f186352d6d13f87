// @vitest-environment jsdom
// The guide of Next.js sets this environment: the globals are a browser's, and no Buffer is an instance of their Uint8Array.
import { createReceiver, type Secret, sign, verify } from 'postern'
import { nextHandler } from 'postern/next'
import { events, signed, silentLogger } from 'postern/testing'
import { fetchHandler } from 'postern/web'
import { expect, it } from 'vitest'

const bytes = Buffer.from('a secret of bytes')
const event = events.contact.created()

function open(secret: Secret = 'a secret') {
  const errors: unknown[] = []
  const receiver = createReceiver({ secret, logger: silentLogger, onError: (error) => errors.push(error) })
  return { receiver: receiver.on('*', () => {}), errors }
}

it('runs in an environment whose Uint8Array is not that of Buffers', () => {
  expect(['window' in globalThis, bytes instanceof Uint8Array]).toEqual([true, false])
})

it.each(['a secret', bytes])('signs and verifies with %s', (secret) => {
  for (const body of ['text', Buffer.from('text'), new Uint8Array([1])]) {
    const signature = sign(body, secret)
    expect([verify(body, signature, secret), verify(body, signature, [Buffer.from('other')])]).toEqual([true, false])
  }
})

it.each(['a secret', bytes])('receives what signed() made with %s, as bytes of either kind', async (secret) => {
  const { receiver, errors } = open(secret)
  const delivery = signed(event, { secret })
  expect(await receiver.receive(delivery)).toMatchObject({ outcome: 'handled' })
  expect(await receiver.receive({ ...delivery, body: Buffer.from(delivery.body) })).toMatchObject({
    outcome: 'duplicate',
  })
  expect(await receiver.receive(signed(Buffer.from(delivery.body), { secret }))).toMatchObject({ outcome: 'duplicate' })
  expect(errors).toEqual([])
})

it.each([
  ['fetchHandler', fetchHandler(open().receiver)],
  ['nextHandler', nextHandler(open().receiver)],
])('receives the request of signed() by %s', async (_name, handle) => {
  expect((await handle(signed(event, { secret: 'a secret' }).request())).status).toBe(200)
})

import { createHmac, randomBytes } from 'node:crypto'
import { type Secret, sign } from '../protocol/signature.ts'
import { formatJson } from '../wire/json-forms.ts'
import type { DeliveryChanges, Maker, TestEvent } from './case.ts'
import type { Delivery } from './exchange.ts'

export interface MakerOptions {
  readonly secret: Secret
  readonly accountKey: string
}

/** Makes the events and deliveries of one run. */
export function createMaker({ secret, accountKey }: MakerOptions): Maker {
  const run = randomBytes(5).toString('hex')
  let count = 0
  const event = (changes: Readonly<Record<string, unknown>> = {}): TestEvent => {
    const name = `${run}_${++count}`
    return {
      id: `evt_chk_${name}`,
      type: 'contact.created',
      timestamp: new Date().toISOString(),
      accountKey,
      data: { record: contact(`chk_${name}`) },
      ...changes,
    }
  }
  return { event, delivery: (body, changes) => createDelivery(toBytes(body), secret, changes) }
}

/** The documented contact; its name is not ASCII, as names are. */
export function contact(id: string): Readonly<Record<string, string>> {
  return { _id: id, firstName: 'Zoë', lastName: 'Check', email: 'check@example.test', status: 'active' }
}

function createDelivery(signed: Uint8Array, secret: Secret, changes: DeliveryChanges = {}): Delivery {
  const { signature, pipe, bytes, contentType = 'application/json' } = changes
  const { contentEncoding, pieceSize, isChunked = false, method } = changes
  const right = sign(signed, secret)
  const hmac = (algorithm: string) => createHmac(algorithm, secret).update(signed).digest('hex')
  const given = signature === undefined ? right : signature(right, hmac)
  return {
    method: method ?? 'POST',
    body: bytes ?? signed,
    signatures: given === undefined ? [] : typeof given === 'string' ? [given] : given,
    contentType,
    contentEncoding,
    pieceSize,
    isChunked,
    pipe: signature === undefined && bytes === undefined ? '' : pipe,
  }
}

/** Events are written with blanks behind colons and commas, so that what is parsed and written again is not the same. */
function toBytes(body: TestEvent | string | Uint8Array): Uint8Array {
  if (body instanceof Uint8Array) return body
  return Buffer.from(typeof body === 'string' ? body : formatJson(body, 'spaced'))
}

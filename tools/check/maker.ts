import { createHmac, randomBytes } from 'node:crypto'
import { splitType } from '../../src/protocol/events.ts'
import { isBytes } from '../../src/protocol/is-bytes.ts'
import { type Secret, sign } from '../../src/protocol/signature.ts'
import { SIGNATURE_NAME } from '../../src/protocol/signature-name.ts'
import { formatJson } from '../wire/json-forms.ts'
import type { DeliveryChanges, Maker, TestDelivery, TestEvent, TestRecord } from './case.ts'

export interface MakerOptions {
  readonly secret: Secret
  readonly accountKey: string
  readonly signatureHeader?: string | undefined
  /** Type of plain events; default `contact.created`. */
  readonly type?: string | undefined
}

/** Type of plain events, unless the owner names another. */
export const PLAIN_TYPE = 'contact.created'

export function createMaker(options: MakerOptions): Maker {
  const { secret, accountKey, signatureHeader = SIGNATURE_NAME, type: plainType = PLAIN_TYPE } = options
  const run = randomBytes(5).toString('hex')
  let count = 0
  const event = (changes: Readonly<Record<string, unknown>> = {}): TestEvent => ({
    id: `evt_chk_${run}_${++count}`,
    type: plainType,
    timestamp: new Date().toISOString(),
    accountKey,
    data: dataOf(String(changes.type ?? plainType)),
    ...changes,
  })
  /** Makes data as the service sends it: a record, only the id of a deleted one, or data without a record. */
  const dataOf = (type: string) => {
    const change = splitType(type)
    if (change === undefined) return { note: 'sent by postern check' }
    const record = contact(change.model === 'contact' ? {} : { name: 'Check' })
    return { record: change.action === 'deleted' ? { _id: record._id } : record }
  }
  /** Makes a contact with a non-ASCII name, as real ones have, and an id in the most likely form of record ids. */
  const contact = (changes: Readonly<Record<string, unknown>> = {}): TestRecord => {
    const _id = `c4ec${run}${(++count).toString(16).padStart(10, '0')}`
    const email = `check.${_id}@example.test`
    return { _id, firstName: 'Zoë', lastName: 'Check', email, status: 'active', ...changes }
  }
  return {
    accountKey,
    signatureHeader,
    plainType,
    model: splitType(plainType)?.model ?? 'contact',
    isOfRun: (id) => String(id).includes(run),
    event,
    contact,
    delivery: (body, changes) => createDelivery(toBytes(body), secret, { signatureName: signatureHeader, ...changes }),
  }
}

const HEAD = {
  method: 'POST',
  contentType: 'application/json',
  isChunked: false,
} as const

function createDelivery(
  signed: Uint8Array,
  secret: Secret,
  changes: DeliveryChanges & Pick<TestDelivery, 'signatureName'>,
): TestDelivery {
  const { signature = (right: string) => right, bytes, ...head } = changes
  const given = signature(sign(signed, secret), signed, secret)
  const isSigned = (changes.signature ?? bytes) === undefined
  return {
    ...HEAD,
    ...head,
    event: isSigned && head.contentEncoding === undefined ? readEvent(signed) : undefined,
    body: bytes ?? signed,
    signatures: given === undefined ? [] : typeof given === 'string' ? [given] : given,
    isSigned,
  }
}

function readEvent(body: Uint8Array): TestEvent | undefined {
  try {
    return JSON.parse(Buffer.from(body).toString()) ?? undefined
  } catch {
    return undefined // a check sends this on purpose
  }
}

/** Serializes events with spaces after colons and commas, so that a body that is parsed and serialized again differs. */
function toBytes(body: TestEvent | string | Uint8Array): Uint8Array {
  if (isBytes(body)) return body
  return Buffer.from(typeof body === 'string' ? body : formatJson(body, 'spaced'))
}

export const WRONG_SIGNATURE: string = `sha256=${'0'.repeat(64)}`

/** Changes that replace the signature of a delivery with a well-formed wrong one. */
export const FORGED: DeliveryChanges = { signature: () => WRONG_SIGNATURE }

/** Makes a delivery that is signed with another key than the secret; the key may be empty. */
export function signWith(make: Maker, key: string | Uint8Array, event: TestEvent = make.event()): TestDelivery {
  const signature = (_right: string, body: Uint8Array) =>
    `sha256=${createHmac('sha256', key).update(body).digest('hex')}`
  return make.delivery(event, { signature })
}

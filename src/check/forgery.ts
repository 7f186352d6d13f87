import { createHmac } from 'node:crypto'
import type { DeliveryChanges, Maker, TestEvent } from './case.ts'
import type { Delivery } from './exchange.ts'

/** Well-formed signature that matches no body. */
export const WRONG_SIGNATURE: string = `sha256=${'0'.repeat(64)}`

/** Changes that replace the signature of a delivery with a well-formed wrong one. */
export const FORGED: DeliveryChanges = { signature: () => WRONG_SIGNATURE }

/** Makes a delivery that is signed with another key than the secret; the key may be empty. */
export function signWith(make: Maker, key: string | Uint8Array, event: TestEvent = make.event()): Delivery {
  const { body } = make.delivery(event)
  return make.delivery(body, { signature: () => `sha256=${createHmac('sha256', key).update(body).digest('hex')}` })
}

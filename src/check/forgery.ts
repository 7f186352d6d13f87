import { createHmac } from 'node:crypto'
import type { DeliveryChanges, Maker, TestEvent } from './case.ts'
import type { Delivery } from './exchange.ts'

/** A well-formed signature that fits no body. */
export const WRONG_SIGNATURE: string = `sha256=${'0'.repeat(64)}`

/** Makes a delivery carry a well-formed signature that does not fit. */
export const FORGED: DeliveryChanges = { signature: () => WRONG_SIGNATURE }

/** A delivery that is signed with another key than the secret, which may be empty. */
export function signWith(make: Maker, key: string | Uint8Array, event: TestEvent = make.event()): Delivery {
  const { body } = make.delivery(event)
  return make.delivery(body, { signature: () => `sha256=${createHmac('sha256', key).update(body).digest('hex')}` })
}

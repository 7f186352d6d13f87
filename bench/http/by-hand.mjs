/** What a careful developer writes by hand: HMAC over the bytes, constant time, JSON.parse. */
import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import { SECRET } from '../deliveries.mjs'

const key = createSecretKey(SECRET, 'utf8')

export function isSigned(body, header) {
  if (typeof header !== 'string' || !header.startsWith('sha256=')) return false
  const presented = Buffer.from(header.slice(7), 'hex')
  const computed = createHmac('sha256', key).update(body).digest()
  return presented.length === computed.length && timingSafeEqual(presented, computed)
}

export const HEADER = 'x-service-signature'

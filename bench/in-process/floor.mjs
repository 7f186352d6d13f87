/** The least that any correct receiver does. */
import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import { SECRET } from '../deliveries.mjs'

const key = createSecretKey(SECRET, 'utf8')

export function create({ onEvent }) {
  return {
    sign: (body) => ({ body, signature: `sha256=${createHmac('sha256', key).update(body).digest('hex')}` }),
    deliver: ({ body, signature }) => {
      const presented = Buffer.from(signature.slice(7), 'hex')
      const computed = createHmac('sha256', key).update(body).digest()
      if (presented.length !== computed.length || !timingSafeEqual(presented, computed)) throw new Error('forged')
      onEvent(JSON.parse(body.toString()).data.record)
    },
  }
}

import { createReceiver, sign } from '../../dist/index.js'
import { SECRET } from '../deliveries.mjs'

export function create({ onEvent }) {
  const receiver = createReceiver({ secret: SECRET }).on('contact.created', (event) => onEvent(event.data.record))
  return {
    sign: (body) => ({ body, signature: sign(body, SECRET) }),
    deliver: (delivery) => receiver.receive(delivery),
  }
}

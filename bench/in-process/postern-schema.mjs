import { createReceiver, sign } from '../../dist/index.js'
import { contact } from '../../dist/models.js'
import { SECRET } from '../deliveries.mjs'

export function create({ onEvent }) {
  const receiver = createReceiver({ secret: SECRET, models: { contact } }).on('contact.created', (event) =>
    onEvent(event.data.record),
  )
  return {
    sign: (body) => ({ body, signature: sign(body, SECRET) }),
    deliver: (delivery) => receiver.receive(delivery),
  }
}

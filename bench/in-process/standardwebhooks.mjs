import { Webhook } from 'standardwebhooks'
import { SECRET } from '../deliveries.mjs'

export function create({ onEvent }) {
  const webhook = new Webhook(SECRET)
  return {
    sign: (body, id) => {
      const now = new Date()
      const signature = webhook.sign(id, now, body.toString())
      return {
        body,
        headers: {
          'webhook-id': id,
          'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
          'webhook-signature': signature,
        },
      }
    },
    deliver: ({ body, headers }) => onEvent(webhook.verify(body, headers).data.record),
  }
}

import { SECRET } from '../receivers/by-hand.mjs'

/** A contestant of the Standard Webhooks scheme: id, timestamp and signature in three headers. */
export const createStandard = (Webhook, onEvent) => {
  const webhook = new Webhook(SECRET)
  return {
    sign: (body, id) => {
      const now = new Date()
      const signature = webhook.sign(id, now, body.toString())
      const timestamp = String(Math.floor(now.getTime() / 1000))
      return { body, headers: { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } }
    },
    deliver: ({ body, headers }) => onEvent(webhook.verify(body, headers).data.record),
  }
}

import { createHmac } from 'node:crypto'
import { WebhookVerificationService } from '@hookflo/tern'
import { SECRET } from '../deliveries.mjs'

const config = { platform: 'github', secret: SECRET, toleranceInSeconds: 300 }

export function create({ onEvent }) {
  return {
    sign: (body) => ({ body, signature: `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}` }),
    deliver: async ({ body, signature }) => {
      const request = new Request('http://localhost/', {
        method: 'POST',
        headers: { 'x-hub-signature-256': signature },
        body,
      })
      const result = await WebhookVerificationService.verify(request, config)
      if (!result.isValid) throw new Error('forged')
      onEvent(result.payload.data.record)
    },
  }
}

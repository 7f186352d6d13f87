import { WebhookVerificationService } from '@hookflo/tern'
import { SECRET } from '../receivers/by-hand.mjs'

const config = { platform: 'github', secret: SECRET, toleranceInSeconds: 300 }

export const create = (onEvent) => ({
  deliver: async ({ body, signature }) => {
    const headers = { 'x-hub-signature-256': signature }
    const request = new Request('http://localhost/', { method: 'POST', headers, body })
    const result = await WebhookVerificationService.verify(request, config)
    if (!result.isValid) throw new Error('forged')
    onEvent(result.payload.data.record)
  },
})

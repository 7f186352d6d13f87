import { setTimeout as sleep } from 'node:timers/promises'
import { createReceiver } from 'postern'
import { contact } from 'postern/models'

/**
 * All code about events, and none about HTTP. Next bundles the App Router and the Pages Router separately, so that each has its own
 * receiver and memory: mount a webhook in one of them, or let both share a store.
 */
export const receiver = createReceiver({ secret: webhookSecret, models: { contact } }).on(
  'contact.*',
  async (event) => {
    await sleep(50) // stands for your database
    console.log(`handled ${event.type} ${event.id}`)
  },
)

/** A function, since `next build` loads this module as well, and the build machine need not know the secret. */
function webhookSecret(): string {
  const secret = process.env.WEBHOOK_SECRET
  if (!secret) throw new Error('WEBHOOK_SECRET is not set')
  return secret
}

import { setTimeout as sleep } from 'node:timers/promises'
import { createReceiver } from 'postern'
import { contact } from 'postern/models'

/**
 * Everything that is about events, and nothing that is about HTTP. Next bundles the App Router and the Pages Router apart, so each of
 * them has a receiver, and a memory, of its own: mount a webhook in one of them, or give both a store that they share.
 */
export const receiver = createReceiver({ secret: webhookSecret, models: { contact } }).on(
  'contact.*',
  async (event) => {
    await sleep(50) // stands for your database
    console.log(`handled ${event.type} ${event.id}`)
  },
)

/** A function, since `next build` loads this module as well, and the machine that builds need not know the secret. */
function webhookSecret(): string {
  const secret = process.env.WEBHOOK_SECRET
  if (!secret) throw new Error('WEBHOOK_SECRET is not set')
  return secret
}

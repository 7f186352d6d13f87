import type { CallOptions, Client } from './api.ts'
import type { Webhook } from './records.ts'
import { activate, deleteIfThere, findRegistrations, register, type SecretKeeper } from './registrations.ts'
import { hasCode, ServiceError } from './service-error.ts'

export interface EnsureOptions extends SecretKeeper, CallOptions {
  readonly url: string
  /** What the webhook is subscribed to, such as `receiver.eventTypes().types`. */
  readonly events: readonly string[]
  readonly description?: string
  /**
   * Also delete an ACTIVE webhook of this URL whose secret is not saved, and make a new one. Default false: it may be somebody else's,
   * and is refused as `webhook_not_ours`.
   */
  readonly replaceActive?: boolean
}

export interface EnsuredWebhook {
  readonly webhook: Webhook
  readonly isNew: boolean
  /** Ids of webhooks that were deleted, since nobody knows their secret. */
  readonly deleted: readonly string[]
}

/** A creation whose answer was lost is looked for, and made again, this often. */
const MAX_CREATIONS = 3

/**
 * Sees to it that the URL has one active webhook whose secret is saved: makes it inactive, has its secret saved, then activates it.
 * Does nothing where all is well, and can be repeated after a crash at any step: what was made without its secret being saved is found
 * and deleted. Run it in one place at a time, such as a deployment step: two at once make two webhooks.
 *
 * @throws ServiceError `webhook_not_ours`, `secret_not_saved`, and those of the calls
 * @example
 * await ensureWebhook(client, {
 *   url: 'https://app.example.com/webhooks',
 *   events: receiver.eventTypes().types,
 *   hasSecret: (id) => secrets.has(id),
 *   saveSecret: (secret, { id }) => secrets.set(id, secret),
 * })
 */
export async function ensureWebhook(client: Client, options: EnsureOptions): Promise<EnsuredWebhook> {
  const { url, events, description, replaceActive = false, signal } = options
  const deleted: string[] = []
  for (let creations = 0; ; creations++) {
    const { saved, unsaved } = await findRegistrations(client, url, options, { signal })
    const ours = saved.find(({ active }) => active === true) ?? saved[0]
    for (const webhook of unsaved) {
      // With a webhook of ours at hand, somebody else's at the same URL is left alone.
      if (webhook.active !== false && (ours !== undefined || !replaceActive)) {
        if (ours !== undefined) continue
        throw notOurs(webhook, url)
      }
      await deleteIfThere(client, webhook.id, { signal })
      deleted.push(webhook.id)
    }
    if (ours !== undefined) return { webhook: await activate(client, ours, events, { signal }), isNew: false, deleted }
    try {
      const made = await register(client, { url, events, ...(description !== undefined && { description }) }, options, {
        signal,
      })
      return { webhook: await activate(client, made, events, { signal }), isNew: true, deleted }
    } catch (error) {
      if (!hasCode(error, 'outcome_unknown') || creations + 1 >= MAX_CREATIONS) throw error
    }
  }
}

function notOurs({ id }: Webhook, url: string): ServiceError {
  const message = `Webhook ${id} delivers to ${new URL(url).origin} already, and its secret is not saved here. If it is yours, save its secret, delete it, or give replaceActive: true.`
  return new ServiceError('webhook_not_ours', message, { route: 'GET /api/integrations/webhooks' })
}

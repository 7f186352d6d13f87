import { OptionChecker } from '../protocol/option-checker.ts'
import type { CallOptions, Client } from './api.ts'
import { isMade, readReplaced, toDescription } from './marks.ts'
import type { Webhook } from './records.ts'
import {
  activateIfThere,
  checkKeeper,
  deleteIfThere,
  ForgottenSecrets,
  findRegistrations,
  MAX_ROUNDS,
  type Registrations,
  register,
  type SecretKeeper,
} from './registrations.ts'
import { hasCode, ServiceError } from './service-error.ts'

export interface EnsureOptions extends SecretKeeper, CallOptions {
  readonly url: string
  /** What the webhook is subscribed to, such as `receiver.eventTypes().types`. */
  readonly events: readonly string[]
  /** Stands before the mark by which webhooks that were made here are known. */
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
  /** Ids of webhooks that were deleted: nobody knows their secret, or another was made at the same time. */
  readonly deleted: readonly string[]
}

const check = new OptionChecker('ensureWebhook')
/** A creation whose answer was lost is looked for, and made again, this often. */
const MAX_FAILURES = 3

/**
 * Sees to it that the URL has one active webhook whose secret is saved: makes it inactive, has its secret saved, then activates it.
 * Does nothing where all is well, and can be repeated after a crash at any step: what was made without its secret being saved is found
 * and deleted. Of several that run at once the oldest webhook stays. It deletes only what it made, which it knows by the end of the
 * description.
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
  checkKeeper(check, options)
  const { url, events, description, replaceActive = false, signal } = options
  const forgotten = new ForgottenSecrets()
  const made = new Set<string>()
  const deleted: string[] = []
  const drop = async ({ id }: Webhook) => {
    await deleteIfThere(client, id, { signal })
    deleted.push(id)
  }
  let failures = 0
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const found = await findRegistrations(client, url, options, { signal })
    const ours = pick(found)
    if (ours === undefined) {
      const foreign = found.unsaved.filter(({ active }) => active !== false)
      if (!replaceActive && foreign[0] !== undefined) throw notOurs(foreign[0], url)
      for (const webhook of foreign) await drop(webhook)
      try {
        const wanted = { url, events, description: toDescription(description) }
        const webhook = await register(client, wanted, options, { signal })
        made.add(webhook.id)
        if (!(await forgotten.isKept(client, webhook, options, { signal }))) deleted.push(webhook.id)
      } catch (error) {
        if (!hasCode(error, 'outcome_unknown') || ++failures === MAX_FAILURES) throw error
      }
      continue // whatever came of it, or of others that run at the same time, is in the list now
    }
    for (const webhook of findSpare(found, ours)) await drop(webhook)
    const webhook = await activateIfThere(client, ours, events, { signal })
    if (webhook !== undefined && ours.active !== false) return { webhook, isNew: made.has(webhook.id), deleted }
  }
  const message = `The webhook of ${new URL(url).origin} did not stay active, though it was activated ${MAX_ROUNDS} times.`
  throw new ServiceError('answer_unusable', message, { route: 'PUT /api/integrations/webhooks' })
}

/** The oldest of ours: an active one if there is one, and none that is about to be replaced. */
function pick({ saved }: Registrations): Webhook | undefined {
  const replaced = new Set(saved.map(readReplaced))
  const lasting = saved.filter(({ id }) => !replaced.has(id))
  return lasting.find(({ active }) => active === true) ?? lasting[0]
}

/** What was made here besides: without its secret being saved, or at the same time. */
function findSpare({ saved, unsaved }: Registrations, ours: Webhook): readonly Webhook[] {
  const replaced = new Set(saved.map(readReplaced))
  const idle = unsaved.filter(({ active }) => active === false)
  return [...saved, ...idle].filter((each) => each.id !== ours.id && isMade(each) && !replaced.has(each.id))
}

function notOurs({ id }: Webhook, url: string): ServiceError {
  const message = `Webhook ${id} delivers to ${new URL(url).origin} already, and its secret is not saved here. If it is yours, save its secret, delete it, or give replaceActive: true.`
  return new ServiceError('webhook_not_ours', message, { route: 'GET /api/integrations/webhooks' })
}

import { ConfigurationError } from '../protocol/errors.ts'
import type { CallOptions, Client } from './api.ts'
import { toDescription } from './marks.ts'
import type { Webhook } from './records.ts'
import {
  activateIfThere,
  deleteIfThere,
  ForgottenSecrets,
  findSuccessors,
  MAX_ROUNDS,
  type Registrations,
  register,
  type SecretKeeper,
} from './registrations.ts'
import { ServiceError } from './service-error.ts'

interface SuccessorOptions extends SecretKeeper, CallOptions {
  readonly url: string
}

/**
 * Finds or creates the webhook that replaces another one, and activates it unless the old one is paused. Deletes further replacements,
 * which an interrupted or a concurrent run created.
 */
export async function settleSuccessor(client: Client, old: Webhook, options: SuccessorOptions): Promise<Webhook> {
  const { signal } = options
  const { events } = old
  if (events === undefined || events.length === 0)
    throw new ConfigurationError(
      'option_invalid',
      `The service does not return the events of webhook ${old.id}, so it cannot be copied.`,
    )
  const isPaused = old.active === false
  const forgotten = new ForgottenSecrets()
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const found = await findSuccessors(client, old.id, options, { signal })
    const ours = pick(found)
    if (ours === undefined) {
      const made = await make(client, { ...old, events }, options)
      await forgotten.isKept(client, made, options, { signal })
      continue // a concurrent run may have created another one
    }
    const spare = findSpare(found, ours)
    for (const { id } of spare) await deleteIfThere(client, id, { signal })
    if (isPaused && spare.length === 0) return ours
    const webhook = isPaused ? undefined : await activateIfThere(client, ours, events, { signal })
    if (webhook === undefined) continue
    if (webhook.active !== true) throw notActive(ours)
    if (ours.active !== false) return webhook
  }
  throw notActive(old)
}

/** Finds the successor of a webhook that no longer exists. */
export async function findSuccessor(client: Client, webhookId: string, options: SuccessorOptions): Promise<Webhook> {
  const successor = pick(await findSuccessors(client, webhookId, options, { signal: options.signal }))
  if (successor !== undefined) return successor
  const message = `Webhook ${webhookId} does not exist, and neither does a replacement for it whose secret is saved.`
  throw new ServiceError('not_found', message, { route: 'GET /api/integrations/webhooks' })
}

function pick({ saved }: Registrations): Webhook | undefined {
  return saved.find(({ active }) => active === true) ?? saved[0]
}

/** Lists the replacements to delete. Keeps active ones: each may deliver events that no other webhook delivers. */
function findSpare({ saved, unsaved }: Registrations, ours: Webhook): readonly Webhook[] {
  const idle = unsaved.filter(({ active }) => active === false)
  return [...saved.filter(({ active }) => active !== true), ...idle].filter(({ id }) => id !== ours.id)
}

/** Creates the successor, and checks that a resumed rotation will find it: otherwise each run would create another one. */
async function make(
  client: Client,
  { id, events, description }: Webhook & { readonly events: readonly string[] },
  options: SuccessorOptions,
): Promise<Webhook> {
  const { url, signal } = options
  const made = await register(client, { url, events, description: toDescription(description, id) }, options, { signal })
  const { saved, unsaved } = await findSuccessors(client, id, options, { signal })
  if ([...saved, ...unsaved].some((each) => each.id === made.id)) return made
  // Another run may have deleted the webhook.
  if (!(await client.webhooks.list({ signal })).some((each) => each.id === made.id)) return made
  await deleteIfThere(client, made.id, { signal })
  const message = `The service does not keep the description of a webhook, which an interrupted rotation needs to continue. The new webhook ${made.id} was deleted again.`
  throw new ServiceError('answer_unusable', message, { route: 'GET /api/integrations/webhooks' })
}

function notActive({ id }: Webhook): ServiceError {
  return new ServiceError('answer_unusable', `Webhook ${id} did not become active.`, {
    route: `PUT /api/integrations/webhooks/${id}`,
  })
}

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
 * Finds the webhook that is to replace another, or makes it, and activates it unless the other one is paused. What was made for that
 * besides, by a run that was interrupted or at the same time, is deleted.
 */
export async function settleSuccessor(client: Client, old: Webhook, options: SuccessorOptions): Promise<Webhook> {
  const { signal } = options
  const { events } = old
  if (events === undefined || events.length === 0)
    throw new ConfigurationError(
      'option_invalid',
      `The service doesn't tell the events of webhook ${old.id}: it can't be copied.`,
    )
  const isPaused = old.active === false
  const forgotten = new ForgottenSecrets()
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const found = await findSuccessors(client, old.id, options, { signal })
    const ours = pick(found)
    if (ours === undefined) {
      const made = await make(client, { ...old, events }, options)
      await forgotten.isKept(client, made, options, { signal })
      continue // another one may be there by now
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

/** The successor of a webhook that is gone. */
export async function findSuccessor(client: Client, webhookId: string, options: SuccessorOptions): Promise<Webhook> {
  const successor = pick(await findSuccessors(client, webhookId, options, { signal: options.signal }))
  if (successor !== undefined) return successor
  const message = `Webhook ${webhookId} is not there, and neither is one that was made to replace it and whose secret is saved.`
  throw new ServiceError('not_found', message, { route: 'GET /api/integrations/webhooks' })
}

function pick({ saved }: Registrations): Webhook | undefined {
  return saved.find(({ active }) => active === true) ?? saved[0]
}

/** An active one may deliver what no other does. */
function findSpare({ saved, unsaved }: Registrations, ours: Webhook): readonly Webhook[] {
  const idle = unsaved.filter(({ active }) => active === false)
  return [...saved.filter(({ active }) => active !== true), ...idle].filter(({ id }) => id !== ours.id)
}

/** Makes sure that a rotation which is interrupted finds it again: another one would be made each time. */
async function make(
  client: Client,
  { id, events, description }: Webhook & { readonly events: readonly string[] },
  options: SuccessorOptions,
): Promise<Webhook> {
  const { url, signal } = options
  const made = await register(client, { url, events, description: toDescription(description, id) }, options, { signal })
  const { saved, unsaved } = await findSuccessors(client, id, options, { signal })
  if ([...saved, ...unsaved].some((each) => each.id === made.id)) return made
  // Another run may have deleted it.
  if (!(await client.webhooks.list({ signal })).some((each) => each.id === made.id)) return made
  await deleteIfThere(client, made.id, { signal })
  const message = `The service does not keep the description of a webhook, by which a rotation that was interrupted is gone on with. Webhook ${made.id}, which was made, is deleted again.`
  throw new ServiceError('answer_unusable', message, { route: 'GET /api/integrations/webhooks' })
}

function notActive({ id }: Webhook): ServiceError {
  return new ServiceError('answer_unusable', `Webhook ${id} did not become active.`, {
    route: `PUT /api/integrations/webhooks/${id}`,
  })
}

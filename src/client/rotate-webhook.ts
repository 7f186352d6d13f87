import { ConfigurationError } from '../protocol/errors.ts'
import { MIN_MEMORY_MS } from '../protocol/schedule.ts'
import type { CallOptions, Client } from './api.ts'
import type { Delivery, Webhook } from './records.ts'
import {
  activate,
  deleteIfThere,
  findRegistrations,
  type Registrations,
  readIfThere,
  register,
  type SecretKeeper,
} from './registrations.ts'
import { replayFailed } from './replay-failed.ts'
import { planReplay, readLog } from './replay-plan.ts'
import { ServiceError } from './service-error.ts'
import { sleep } from './sleep.ts'

export interface RotateOptions extends SecretKeeper, CallOptions {
  /** The webhook to be replaced. */
  readonly webhookId: string
  /** Where the new one delivers to, mostly the same. Also finds it again, where a rotation was interrupted. */
  readonly url: string
  /** How long both deliver at least. Default 60,000. */
  readonly overlapMs?: number
  /** Pause between two looks at the logs. Default 10,000. */
  readonly pollMs?: number
  /** How long to wait for what is pending. Default 3 hours, longer than the service's whole schedule; 0 for one look. */
  readonly waitMs?: number
  /** Delete the old webhook even if events failed for good that only its log has. Default false. */
  readonly giveUpFailed?: boolean
  readonly onProgress?: (rotation: Rotation) => void
}

/** How far a rotation is. */
export interface Rotation {
  /** `waiting`: both deliver; call again. `finished`: the old webhook is deleted. */
  readonly state: 'waiting' | 'finished'
  /** The new webhook. */
  readonly webhook: Webhook
  /** Deliveries that only the old webhook can still make. */
  readonly pending: number
  /** Events that failed for good, also when they were retried, and that only the old webhook's log has. */
  readonly failed: number
  /** Whether both webhooks send an event under one id, so that it is handled once. Undefined until there is such an event. */
  readonly sharesEventIds: boolean | undefined
}

/**
 * Replaces a webhook, and so its signing secret, without missing a delivery: makes a second one, has its secret saved, lets both deliver
 * for a while, retries what failed, and deletes the first when nothing is left that only it could deliver. Can be repeated after a crash
 * at any step.
 *
 * An event of the overlap comes from both. It is handled once if it has the same id in both: see `sharesEventIds`.
 *
 * @throws ServiceError `secret_not_saved`, `not_found` where neither the webhook nor a successor is there, and those of the calls
 */
export async function rotateWebhook(client: Client, options: RotateOptions): Promise<Rotation> {
  const { webhookId, overlapMs = 60_000, pollMs = 10_000, waitMs = MIN_MEMORY_MS, signal } = options
  const { clock } = client
  const old = await readIfThere(client, webhookId, { signal })
  const webhook = await findOrMakeSuccessor(client, old, options)
  const finished: Rotation = { state: 'finished', webhook, pending: 0, failed: 0, sharesEventIds: undefined }
  if (old === undefined) return finished
  const start = clock.monotonic()
  const retried = new Set<string>()
  for (;;) {
    const survey = await look(client, webhookId, webhook.id, signal)
    const rotation: Rotation = { ...finished, ...survey.counts, state: 'waiting' }
    options.onProgress?.(rotation)
    const isOver = clock.monotonic() - start >= overlapMs
    const fresh = survey.failed.filter(({ id }) => !retried.has(id))
    if (fresh.length > 0) {
      for (const { id } of fresh) retried.add(id)
      await replayFailed(client, { webhookId, filter: ({ id }) => fresh.some((each) => each.id === id), signal })
      continue
    }
    const isClear = rotation.pending === 0 && (rotation.failed === 0 || options.giveUpFailed === true)
    if (isOver && isClear) {
      await deleteIfThere(client, webhookId, { signal })
      return { ...rotation, state: 'finished' }
    }
    // What failed again doesn't get better by waiting.
    if (clock.monotonic() - start >= waitMs || (isOver && rotation.pending === 0)) return rotation
    await sleep(clock, pollMs, signal)
  }
}

async function findOrMakeSuccessor(client: Client, old: Webhook | undefined, options: RotateOptions): Promise<Webhook> {
  const { url, webhookId, signal } = options
  const found = await findRegistrations(client, url, options, { signal })
  const successor = await findSuccessor(client, found, webhookId, signal)
  if (old === undefined) {
    if (successor !== undefined) return successor
    const message = `Webhook ${webhookId} is not there, and neither is a successor for its URL whose secret is saved.`
    throw new ServiceError('not_found', message, { route: 'GET /api/integrations/webhooks' })
  }
  if (old.events === undefined || old.events.length === 0)
    throw new ConfigurationError(
      'option_invalid',
      `The service doesn't tell the events of webhook ${webhookId}: it can't be copied.`,
    )
  const made = successor ?? (await register(client, { url, events: old.events }, options, { signal }))
  const active = await activate(client, made, old.events, { signal })
  if (active.active === true) return active
  throw new ServiceError('answer_unusable', `Webhook ${made.id} did not become active.`, {
    route: `PUT /api/integrations/webhooks/${made.id}`,
  })
}

/** One of an interrupted rotation. Those whose secret was not saved are of no use. */
async function findSuccessor(
  client: Client,
  { saved, unsaved }: Registrations,
  webhookId: string,
  signal: AbortSignal | undefined,
): Promise<Webhook | undefined> {
  for (const { id, active } of unsaved)
    if (id !== webhookId && active === false) await deleteIfThere(client, id, { signal })
  return saved.find(({ id }) => id !== webhookId)
}

interface Survey {
  readonly failed: readonly Delivery[]
  readonly counts: Pick<Rotation, 'pending' | 'failed' | 'sharesEventIds'>
}

/** What is left that only the old webhook could deliver. An event that stands in the new one's log as well is in its care. */
async function look(client: Client, oldId: string, newId: string, signal: AbortSignal | undefined): Promise<Survey> {
  // The old log first: what is in it alone, and younger than the new webhook, would be in the new log by then.
  const oldLog = await readLog(client, oldId, undefined, signal)
  const newLog = await readLog(client, newId, undefined, signal)
  const cared = new Set(newLog.map(({ eventId }) => eventId).filter((id) => id !== undefined))
  const isAlone = ({ eventId }: Delivery) => eventId === undefined || !cared.has(eventId)
  const longAgo = client.clock.now() - MIN_MEMORY_MS
  // A state with an unknown name may be a pending one, as long as the schedule runs.
  const mayBePending = ({ state, createdAt }: Delivery) =>
    state === 'pending' || (state === 'unknown' && (createdAt === undefined || createdAt.getTime() > longAgo))
  const pending = oldLog.filter((delivery) => mayBePending(delivery) && isAlone(delivery)).length
  const failed = planReplay(oldLog, isAlone).toRetry
  const isTold = cared.size > 0 && oldLog.some(({ eventId }) => eventId !== undefined)
  const sharesEventIds = isTold ? oldLog.some((delivery) => !isAlone(delivery)) : undefined
  return { failed, counts: { pending, failed: failed.length, sharesEventIds } }
}

import { ConfigurationError } from '../protocol/errors.ts'
import { MIN_MEMORY_MS } from '../protocol/schedule.ts'
import type { CallOptions, Client } from './api.ts'
import { toDescription } from './marks.ts'
import type { Delivery, Webhook } from './records.ts'
import { activate, deleteIfThere, findSuccessors, readIfThere, register, type SecretKeeper } from './registrations.ts'
import { replayFailed } from './replay-failed.ts'
import { planReplay, readLog } from './replay-plan.ts'
import { ServiceError } from './service-error.ts'
import { sleep } from './sleep.ts'

export interface RotateOptions extends SecretKeeper, CallOptions {
  /** The webhook to be replaced. */
  readonly webhookId: string
  /** Where the new one delivers to, mostly the same. */
  readonly url: string
  /** How long both deliver at least. Default 60,000. */
  readonly overlapMs?: number
  /** Pause between two looks at the logs. Default 10,000. */
  readonly pollMs?: number
  /** How long to wait for what is pending. Default 3 hours, longer than the service's whole schedule; 0 for one look. */
  readonly waitMs?: number
  /** Delete the old webhook even if events failed for good that only its log has, or are held back since it is paused. Default false. */
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
  /** Those of a paused webhook, which it holds back until it is resumed. They are not waited for. */
  readonly held: number
  /** Events that failed for good, also when they were retried, and that only the old webhook's log has. */
  readonly failed: number
  /** Whether both webhooks send an event under one id, so that it is handled once. Undefined until there is such an event. */
  readonly sharesEventIds: boolean | undefined
}

/**
 * Replaces a webhook, and so its signing secret, without missing a delivery: makes a second one, has its secret saved, lets both deliver
 * for a while, retries what failed, and deletes the first when nothing is left that only it could deliver. Can be repeated after a crash
 * at any step: the new webhook is known by the end of its description, `(postern, replaces ID)`. It takes over the events and the
 * description, and stays paused if the first is.
 *
 * An event of the overlap comes from both. It is handled once if it has the same id in both: see `sharesEventIds`.
 *
 * @throws ServiceError `secret_not_saved`, `not_found` where neither the webhook nor its successor is there, `answer_unusable` where the
 *   service does not keep descriptions, and those of the calls
 */
export async function rotateWebhook(client: Client, options: RotateOptions): Promise<Rotation> {
  const { webhookId, overlapMs = 60_000, pollMs = 10_000, waitMs = MIN_MEMORY_MS, signal } = options
  const { clock } = client
  const old = await readIfThere(client, webhookId, { signal })
  const webhook = await findOrMakeSuccessor(client, old, options)
  const finished: Rotation = { state: 'finished', webhook, pending: 0, held: 0, failed: 0, sharesEventIds: undefined }
  if (old === undefined) return finished
  const isPaused = old.active === false
  const start = clock.monotonic()
  const retried = new Set<string>()
  for (;;) {
    const { failed, counts } = await look(client, webhookId, webhook.id, signal)
    const rotation: Rotation = { ...finished, ...counts, ...(isPaused && hold(counts)), state: 'waiting' }
    options.onProgress?.(rotation)
    const isOver = isPaused || clock.monotonic() - start >= overlapMs
    const fresh = isPaused ? [] : failed.filter(({ id }) => !retried.has(id)) // it would hold them back as well
    if (fresh.length > 0) {
      for (const { id } of fresh) retried.add(id)
      await replayFailed(client, { webhookId, filter: ({ id }) => fresh.some((each) => each.id === id), signal })
      continue
    }
    const isClear = rotation.pending === 0 && (rotation.failed + rotation.held === 0 || options.giveUpFailed === true)
    if (isOver && isClear) {
      await deleteIfThere(client, webhookId, { signal })
      return { ...rotation, state: 'finished' }
    }
    // What failed again doesn't get better by waiting.
    if (clock.monotonic() - start >= waitMs || (isOver && rotation.pending === 0)) return rotation
    await sleep(clock, pollMs, signal)
  }
}

function hold({ pending }: Survey['counts']): Pick<Rotation, 'pending' | 'held'> {
  return { pending: 0, held: pending }
}

async function findOrMakeSuccessor(client: Client, old: Webhook | undefined, options: RotateOptions): Promise<Webhook> {
  const { webhookId, signal } = options
  const { saved, unsaved } = await findSuccessors(client, webhookId, options, { signal })
  for (const { id, active } of unsaved) if (active === false) await deleteIfThere(client, id, { signal }) // a crash kept its secret from being saved
  const [successor] = saved
  if (old === undefined) {
    if (successor !== undefined) return successor
    throw notFound(webhookId)
  }
  const { events } = old
  if (events === undefined || events.length === 0)
    throw new ConfigurationError(
      'option_invalid',
      `The service doesn't tell the events of webhook ${webhookId}: it can't be copied.`,
    )
  const webhook = successor ?? (await makeSuccessor(client, { ...old, events }, options))
  if (old.active === false) return webhook
  const active = await activate(client, webhook, events, { signal })
  if (active.active === true) return active
  throw new ServiceError('answer_unusable', `Webhook ${webhook.id} did not become active.`, {
    route: `PUT /api/integrations/webhooks/${webhook.id}`,
  })
}

/** Makes sure that a rotation which is interrupted finds it again: another one would be made each time. */
async function makeSuccessor(
  client: Client,
  { id, events, description }: Webhook & { readonly events: readonly string[] },
  options: RotateOptions,
): Promise<Webhook> {
  const { url, signal } = options
  const made = await register(client, { url, events, description: toDescription(description, id) }, options, { signal })
  const { saved, unsaved } = await findSuccessors(client, id, options, { signal })
  if ([...saved, ...unsaved].some((each) => each.id === made.id)) return made
  await deleteIfThere(client, made.id, { signal })
  const message = `The service does not keep the description of a webhook, by which a rotation that was interrupted is gone on with. Webhook ${made.id}, which was made, is deleted again.`
  throw new ServiceError('answer_unusable', message, { route: 'GET /api/integrations/webhooks' })
}

function notFound(webhookId: string): ServiceError {
  const message = `Webhook ${webhookId} is not there, and neither is one that was made to replace it and whose secret is saved.`
  return new ServiceError('not_found', message, { route: 'GET /api/integrations/webhooks' })
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
  const cared: ReadonlySet<string | undefined> = new Set(
    newLog.map(({ eventId }) => eventId).filter((id) => id !== undefined),
  )
  const isAlone = ({ eventId }: Delivery) => !cared.has(eventId)
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

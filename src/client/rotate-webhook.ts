import { OptionChecker } from '../protocol/option-checker.ts'
import { MIN_MEMORY_MS } from '../protocol/schedule.ts'
import type { CallOptions, Client } from './api.ts'
import type { Delivery, Webhook } from './records.ts'
import { checkKeeper, deleteIfThere, readIfThere, type SecretKeeper } from './registrations.ts'
import { replayFailed } from './replay-failed.ts'
import { planReplay, readLog } from './replay-plan.ts'
import { hasCode } from './service-error.ts'
import { findSuccessor, settleSuccessor } from './settle-successor.ts'
import { MAX_POLL_MS, MAX_WAIT_MS, sleep } from './sleep.ts'

/** Options of `rotateWebhook`: the webhook to replace, a function that saves the new secret, and the time for which both deliver. */
export interface RotateOptions extends SecretKeeper, CallOptions {
  /** Id of the webhook to replace. */
  readonly webhookId: string
  /** URL of the new webhook, usually the same. */
  readonly url: string
  /** Minimum time for which both webhooks deliver, in milliseconds. Default 60,000. */
  readonly overlapMs?: number
  /** Pause between two reads of the logs, in milliseconds. Default 10,000. */
  readonly pollMs?: number
  /** Milliseconds to wait for pending deliveries. Default 3 hours, longer than the service's whole schedule; 0 reads the logs once. */
  readonly waitMs?: number
  /** Deletes the old webhook even if only its log has events that failed for good or that it holds back while paused. Default false. */
  readonly giveUpFailed?: boolean
  /** Called after each read of the logs. */
  readonly onProgress?: (rotation: Rotation) => void
}

/** Progress of a rotation. */
export interface Rotation {
  /** `waiting`: both deliver; call again. `finished`: the old webhook is deleted. */
  readonly state: 'waiting' | 'finished'
  /** New webhook. */
  readonly webhook: Webhook
  /** Number of deliveries that only the old webhook can still make. */
  readonly pending: number
  /** Number of deliveries that a paused webhook holds back until it is resumed. The rotation does not wait for them. */
  readonly held: number
  /** Number of events that failed for good, even after a manual retry, and that only the old webhook's log has. */
  readonly failed: number
  /** True if both webhooks send an event with the same id, so that it is handled once. Undefined until there is such an event. */
  readonly sharesEventIds: boolean | undefined
}

const check = new OptionChecker('rotateWebhook')

/**
 * Replaces a webhook, and so its signing secret, without missing a delivery: creates a second one, calls `saveSecret`, lets both deliver
 * for a while, retries failed deliveries, and deletes the first one when nothing is left that only it could deliver. Can be repeated
 * after a crash at any step: the new webhook is recognized by the end of its description, `(postern, replaces ID)`. The new webhook gets
 * the events and the description of the old one, and stays paused if the old one is.
 *
 * Concurrent runs agree on one new webhook, if `hasSecret` of each finds the secrets that the others saved.
 *
 * During the overlap, both webhooks send each event. It is handled once if both send the same id: see `sharesEventIds`.
 *
 * @throws ServiceError `secret_not_saved`, `not_found` if neither the webhook nor its successor exists, `answer_unusable` if the
 *   service does not keep descriptions, and those of the calls
 */
export async function rotateWebhook(client: Client, options: RotateOptions): Promise<Rotation> {
  const { overlapMs = 60_000, pollMs = 10_000, waitMs = MIN_MEMORY_MS, webhookId, signal } = options
  checkKeeper(check, options)
  check.isNumber('overlapMs', overlapMs, 0, MAX_WAIT_MS)
  check.isNumber('waitMs', waitMs, 0, MAX_WAIT_MS)
  check.isNumber('pollMs', pollMs, 1, MAX_POLL_MS)
  const old = await readIfThere(client, webhookId, { signal })
  if (old === undefined) return toFinished(await findSuccessor(client, webhookId, options))
  const webhook = await settleSuccessor(client, old, options)
  try {
    return await waitForOld(client, old, webhook, { ...options, overlapMs, pollMs, waitMs })
  } catch (error) {
    // Another run may have finished the same rotation.
    const isOver = hasCode(error, 'not_found') && (await readIfThere(client, webhookId, { signal })) === undefined
    if (!isOver) throw error
    return toFinished(await findSuccessor(client, webhookId, options))
  }
}

function toFinished(webhook: Webhook): Rotation {
  return { state: 'finished', webhook, pending: 0, held: 0, failed: 0, sharesEventIds: undefined }
}

type Waiting = RotateOptions & Required<Pick<RotateOptions, 'overlapMs' | 'pollMs' | 'waitMs'>>

/** Lets both webhooks deliver until nothing is left that only the old one could deliver, and deletes the old one. */
async function waitForOld(client: Client, old: Webhook, webhook: Webhook, options: Waiting): Promise<Rotation> {
  const { webhookId, overlapMs, pollMs, waitMs, signal } = options
  const { clock } = client
  const isPaused = old.active === false
  const start = clock.monotonic()
  const retried = new Set<string>()
  for (;;) {
    const { failed, counts } = await look(client, webhookId, webhook.id, signal)
    const rotation: Rotation = { ...toFinished(webhook), ...counts, ...(isPaused && hold(counts)), state: 'waiting' }
    options.onProgress?.(rotation)
    const isOver = isPaused || clock.monotonic() - start >= overlapMs
    const fresh = isPaused ? [] : failed.filter(({ id }) => !retried.has(id)) // a paused webhook would hold back the retries as well
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
    // Waiting does not help events that failed again.
    if (clock.monotonic() - start >= waitMs || (isOver && rotation.pending === 0)) return rotation
    await sleep(clock, pollMs, signal)
  }
}

function hold({ pending }: Survey['counts']): Pick<Rotation, 'pending' | 'held'> {
  return { pending: 0, held: pending }
}

interface Survey {
  readonly failed: readonly Delivery[]
  readonly counts: Pick<Rotation, 'pending' | 'failed' | 'sharesEventIds'>
}

/** Counts what only the old webhook can still deliver: an event in the log of the new one is left to the new one. */
async function look(client: Client, oldId: string, newId: string, signal: AbortSignal | undefined): Promise<Survey> {
  // Reads the old log first: an event that is younger than the new webhook is in the new log by the time that one is read.
  const oldLog = await readLog(client, oldId, undefined, signal)
  const newLog = await readLog(client, newId, undefined, signal)
  const cared: ReadonlySet<string | undefined> = new Set(
    newLog.map(({ eventId }) => eventId).filter((id) => id !== undefined),
  )
  const isAlone = ({ eventId }: Delivery) => !cared.has(eventId)
  const longAgo = client.clock.now() - MIN_MEMORY_MS
  // An unknown state may mean pending until the retry schedule has ended.
  const mayBePending = ({ state, createdAt }: Delivery) =>
    state === 'pending' || (state === 'unknown' && (createdAt === undefined || createdAt.getTime() > longAgo))
  const pending = oldLog.filter((delivery) => mayBePending(delivery) && isAlone(delivery)).length
  const failed = planReplay(oldLog, isAlone).toRetry
  const isTold = cared.size > 0 && oldLog.some(({ eventId }) => eventId !== undefined)
  const sharesEventIds = isTold ? oldLog.some((delivery) => !isAlone(delivery)) : undefined
  return { failed, counts: { pending, failed: failed.length, sharesEventIds } }
}

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

const check = new OptionChecker('rotateWebhook')

/**
 * Replaces a webhook, and so its signing secret, without missing a delivery: makes a second one, has its secret saved, lets both deliver
 * for a while, retries what failed, and deletes the first when nothing is left that only it could deliver. Can be repeated after a crash
 * at any step: the new webhook is known by the end of its description, `(postern, replaces ID)`. It takes over the events and the
 * description, and stays paused if the first is.
 *
 * Of several that run at once all come to the same new webhook, if `hasSecret` finds what another one has saved.
 *
 * An event of the overlap comes from both. It is handled once if it has the same id in both: see `sharesEventIds`.
 *
 * @throws ServiceError `secret_not_saved`, `not_found` where neither the webhook nor its successor is there, `answer_unusable` where the
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
    // Another run may have come to the end of the same rotation.
    const isOver = hasCode(error, 'not_found') && (await readIfThere(client, webhookId, { signal })) === undefined
    if (!isOver) throw error
    return toFinished(await findSuccessor(client, webhookId, options))
  }
}

function toFinished(webhook: Webhook): Rotation {
  return { state: 'finished', webhook, pending: 0, held: 0, failed: 0, sharesEventIds: undefined }
}

type Waiting = RotateOptions & Required<Pick<RotateOptions, 'overlapMs' | 'pollMs' | 'waitMs'>>

/** Lets both deliver until nothing is left that only the old one could deliver, and deletes it. */
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

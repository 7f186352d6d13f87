import { sleep } from '../host/clock.ts'
import { ConfigurationError } from '../protocol/errors.ts'
import { FILLED_TEXT, FLAG, FUNCTION, type Kinds, number, OptionChecker, SIGNAL } from '../protocol/option-checker.ts'
import { MIN_MEMORY_MS } from '../protocol/schedule.ts'
import type { CallOptions, Client } from './api.ts'
import { WEBHOOK_URL } from './create-client.ts'
import type { Delivery, Webhook } from './records.ts'
import {
  MAX_ROUNDS,
  openRegistry,
  type Registrations,
  type Registry,
  readReplaced,
  type SecretKeeper,
  toDescription,
} from './registrations.ts'
import { replayFailed } from './replay-failed.ts'
import { planReplay, readLog } from './replay-plan.ts'
import { hasCode, ServiceError } from './service-error.ts'
import { CLIENT, MAX_POLL_MS, MAX_WAIT_MS } from './settings.ts'

/** Options of `rotateWebhook`: the webhook to replace, a function that saves the new secret, and the time for which both deliver. */
export interface RotateOptions extends SecretKeeper, CallOptions {
  /** Id of the webhook to replace. */
  readonly webhookId: string
  /** URL of the new webhook. Default: that of the old one. If a repeated call has another one, the new webhook is moved there. */
  readonly url?: string | undefined
  /** Minimum time for which both webhooks deliver, in milliseconds. Default 60,000. */
  readonly overlapMs?: number | undefined
  /** Pause between two reads of the logs, in milliseconds. Default 10,000. */
  readonly pollMs?: number | undefined
  /** Milliseconds to wait for pending deliveries. Default 3 hours, longer than the service's whole schedule; 0 reads the logs once. */
  readonly waitMs?: number | undefined
  /** Deletes the old webhook even if only its log has events that failed for good or that it holds back while paused. Default false. */
  readonly giveUpFailed?: boolean | undefined
  /** Called after each read of the logs. */
  readonly onProgress?: ((rotation: Rotation) => void) | undefined
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
  /**
   * True once a delivery of the new webhook has succeeded: until then, an old one that works is not deleted. Undefined if the old one
   * was gone before.
   */
  readonly isProven: boolean | undefined
  /** Number of deliveries of the new webhook that have not succeeded so far. */
  readonly unsuccessful: number
  /** True if both webhooks send an event with the same id, so that it is handled once. Undefined until there is such an event. */
  readonly sharesEventIds: boolean | undefined
}

const check = new OptionChecker('rotateWebhook')
const OPTIONS: Kinds<RotateOptions> = {
  webhookId: FILLED_TEXT,
  url: WEBHOOK_URL,
  overlapMs: number(0, MAX_WAIT_MS),
  pollMs: number(1, MAX_POLL_MS),
  waitMs: number(0, MAX_WAIT_MS),
  giveUpFailed: FLAG,
  onProgress: FUNCTION,
  hasSecret: FUNCTION,
  saveSecret: FUNCTION,
  signal: SIGNAL,
}

/**
 * Replaces a webhook, and so its signing secret, without missing a delivery: creates a second one, calls `saveSecret`, lets both deliver
 * for a while, retries failed deliveries, and deletes the first one when nothing is left that only it could deliver and a delivery of
 * the second one has succeeded. Can be repeated after a crash at any step: the new webhook is recognized by the end of its description,
 * `(postern, replaces ID)`. The new webhook gets the events and the description of the old one, and stays paused if the old one is.
 *
 * Concurrent runs agree on one new webhook, if `hasSecret` of each finds the secrets that the others saved.
 *
 * During the overlap, both webhooks send each event. It is handled once if both send the same id: see `sharesEventIds`.
 *
 * @throws ServiceError `secret_not_saved`, `not_found` if neither the webhook nor its successor exists, `answer_unusable` if the
 *   service does not list the new webhook as it was created, and those of the calls; ConfigurationError `option_unknown`, `option_invalid`
 */
export async function rotateWebhook(client: Client, options: RotateOptions): Promise<Rotation> {
  check.mustBe('client', client, CLIENT)
  check.mustFit(options, OPTIONS, ['webhookId', 'hasSecret', 'saveSecret'])
  const { webhookId } = options
  const registry = openRegistry(client, options)
  const old = await registry.read(webhookId)
  if (old === undefined) return findFinished(registry, webhookId)
  const webhook = await settleSuccessor(registry, old, options.url)
  try {
    return await waitForOld(client, registry, old, webhook, options)
  } catch (error) {
    // Another run may have finished the same rotation.
    const isOver = hasCode(error, 'not_found') && (await registry.read(webhookId)) === undefined
    if (!isOver) throw error
    return findFinished(registry, webhookId)
  }
}

/**
 * Finds or creates the webhook that replaces another one, and activates it unless the old one is paused. Deletes further replacements,
 * which an interrupted or a concurrent run created.
 */
async function settleSuccessor(registry: Registry, old: Webhook, url = old.url): Promise<Webhook> {
  const { id, events = [], description, active } = old
  if (url === undefined || events.length === 0) {
    const [missing, fix] = url === undefined ? ['url', ': give one'] : ['events', '']
    const message = `The service does not return the ${missing} of webhook ${id}, so it cannot be copied${fix}.`
    throw new ConfigurationError('option_invalid', message)
  }
  const isPaused = active === false
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const found = await findSuccessors(registry, id)
    const ours = pick(found)
    if (ours === undefined) {
      await registry.register({ url, events, description: toDescription(description, id) })
      continue // a concurrent run may have created another one
    }
    const spare = findSpare(found, ours)
    for (const each of spare) await registry.delete(each.id)
    const webhook = await registry.correct(ours, { url, events, active: !isPaused || ours.active === true })
    if (webhook === undefined) continue
    if (!isPaused && webhook.active !== true) throw notActive(ours)
    if (isPaused ? spare.length === 0 : ours.active !== false) return webhook
  }
  throw notActive(old)
}

function findSuccessors(registry: Registry, webhookId: string): Promise<Registrations> {
  return registry.find((webhook) => readReplaced(webhook) === webhookId)
}

function pick({ saved }: Registrations): Webhook | undefined {
  return saved.find(({ active }) => active === true) ?? saved[0]
}

/** Lists the replacements to delete. Keeps active ones: each may deliver events that no other webhook delivers. */
function findSpare({ saved, unsaved }: Registrations, ours: Webhook): readonly Webhook[] {
  const idle = unsaved.filter(({ active }) => active === false)
  return [...saved.filter(({ active }) => active !== true), ...idle].filter(({ id }) => id !== ours.id)
}

function notActive({ id }: Webhook): ServiceError {
  return new ServiceError('answer_unusable', `Webhook ${id} did not become active.`, {
    route: `PUT /api/integrations/webhooks/${id}`,
  })
}

async function findFinished(registry: Registry, webhookId: string): Promise<Rotation> {
  const webhook = pick(await findSuccessors(registry, webhookId))
  const unknown = { isProven: undefined, unsuccessful: 0, sharesEventIds: undefined }
  if (webhook !== undefined) return { state: 'finished', webhook, pending: 0, held: 0, failed: 0, ...unknown }
  const message = `Webhook ${webhookId} does not exist, and neither does a replacement for it whose secret is saved.`
  throw new ServiceError('not_found', message, { route: 'GET /api/integrations/webhooks' })
}

/** Lets both webhooks deliver until the new one has, and nothing is left that only the old one could deliver. Deletes the old one. */
async function waitForOld(
  client: Client,
  registry: Registry,
  old: Webhook,
  webhook: Webhook,
  options: RotateOptions,
): Promise<Rotation> {
  const { webhookId, overlapMs = 60_000, pollMs = 10_000, waitMs = MIN_MEMORY_MS, signal } = options
  const { clock } = client
  const isPaused = old.active === false
  const start = clock.monotonic()
  const retried = new Set<string>()
  for (;;) {
    const { failed, rotation } = await look(client, old, webhook, signal)
    options.onProgress?.(rotation)
    const isOver = isPaused || clock.monotonic() - start >= overlapMs
    const fresh = isPaused ? [] : failed.filter(({ id }) => !retried.has(id)) // a paused webhook would hold back the retries as well
    if (fresh.length > 0) {
      for (const { id } of fresh) retried.add(id)
      await replayFailed(client, { webhookId, filter: ({ id }) => fresh.some((each) => each.id === id), signal })
      continue
    }
    const isDrained = isOver && rotation.pending === 0
    const isStuck = rotation.failed + rotation.held > 0 && options.giveUpFailed !== true
    if (isDrained && !isStuck && (rotation.isProven || (isPaused && webhook.active !== true))) {
      await registry.delete(webhookId)
      return { ...rotation, state: 'finished' }
    }
    // Waiting does not help events that failed again.
    if (clock.monotonic() - start >= waitMs || (isDrained && isStuck)) return rotation
    await sleep(clock, pollMs, signal)
  }
}

/** Finds what only the old webhook can still deliver: an event in the log of the new one is left to the new one. */
async function look(client: Client, old: Webhook, webhook: Webhook, signal: AbortSignal | undefined) {
  // Reads the old log first: an event that is younger than the new webhook is in the new log by the time that one is read.
  const oldLog = await readLog(client, old.id, undefined, signal)
  const newLog = await readLog(client, webhook.id, undefined, signal)
  const cared = new Set(newLog.map(({ eventId }) => eventId))
  cared.delete(undefined)
  const isAlone = ({ eventId }: Delivery) => !cared.has(eventId)
  const longAgo = client.clock.now() - MIN_MEMORY_MS
  // An unknown state may mean pending until the retry schedule has ended.
  const mayBePending = ({ state, createdAt }: Delivery) =>
    state === 'pending' || (state === 'unknown' && (createdAt === undefined || createdAt.getTime() > longAgo))
  const pending = oldLog.filter((delivery) => mayBePending(delivery) && isAlone(delivery)).length
  const failed = planReplay(oldLog, isAlone).toRetry
  const isTold = cared.size > 0 && oldLog.some(({ eventId }) => eventId !== undefined)
  const sharesEventIds = isTold ? oldLog.some((delivery) => !isAlone(delivery)) : undefined
  const unsuccessful = newLog.filter(({ state }) => state !== 'succeeded').length
  const isProven = unsuccessful < newLog.length
  const held = old.active === false ? pending : 0
  const counts = { pending: pending - held, held, failed: failed.length, unsuccessful }
  const rotation: Rotation = { state: 'waiting', webhook, ...counts, isProven, sharesEventIds }
  return { failed, rotation }
}

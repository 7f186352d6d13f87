import type { Inbox, InboxItem, TakenItem } from '../inbox/inbox.ts'
import type { Tried } from '../inbox/settle.ts'
import { isKeyOf, laneKey } from '../protocol/dedup-key.ts'
import { type ParsedEvent, parseEnvelope, withModel } from '../protocol/envelope.ts'
import { PosternError } from '../protocol/errors.ts'
import { type Outcome, Rejection, toFailed, toOutcome, toRejected } from '../protocol/outcome.ts'
import { ignoreRejection } from '../protocol/promises.ts'
import { STORE_LIMIT_MS } from '../protocol/schedule.ts'
import { quote, show } from '../protocol/show.ts'
import type { Bodies } from './bodies.ts'
import { callStore, StoreFailure } from './lease.ts'
import type { Watch } from './observer.ts'
import type { Route, Routes } from './routes.ts'
import type { EventRequest } from './run.ts'
import type { Runs } from './runs.ts'
import type { Shared } from './shared.ts'

/** Stop 7, the last one, of a receiver with an inbox: acknowledges the event only if the engine confirms in time that it is on disk. */
export async function accept(
  shared: Shared,
  bodies: Bodies,
  inbox: Inbox,
  event: Pick<InboxItem, 'key' | 'bytes' | 'accountKey' | 'id' | 'type' | 'lane'>,
  { deadline, receivedAt, source, watch }: EventRequest,
): Promise<Outcome> {
  const { settings, reporter } = shared
  const { length } = event.bytes
  if (shared.isClosing) return toOutcome('closing', event)
  if (!bodies.hold(length)) return bodies.full(503, event)
  const limitMs = Math.min(STORE_LIMIT_MS, Math.max(deadline - settings.clock.monotonic(), 0))
  // The app may reuse its buffer after a late answer, while the engine still writes.
  const item = { ...event, bytes: new Uint8Array(event.bytes), receivedAt, source }
  const put = (trace?: InboxItem['trace']) => {
    const traced = trace === undefined ? item : { ...item, trace }
    return callStore(
      shared,
      limitMs,
      () => inbox.put(traced),
      () => true,
    )
  }
  const answer = await (watch === undefined ? put() : watch.put(item, put))
  bodies.letGo(length)
  void lookForWorker(shared, inbox)
  if (!(answer instanceof StoreFailure)) return toOutcome('accepted', event)
  const message =
    'inbox.put() failed or did not answer in time; the event is not acknowledged, and the sender may retry.'
  const error = new PosternError('inbox_unavailable', message, { cause: answer.cause })
  reporter.errorSparingly(error)
  return toFailed(503, 'inbox_unavailable', error, event)
}

/** The time for which an event may wait before a process without a worker looks whether another one runs any, in milliseconds. */
const UNWORKED_MS = 120_000
const UNWORKED =
  'An event of the inbox has waited for two minutes, and no worker runs any: call receiver.work() in this process or in another. If workOnce is called more rarely, nothing is wrong.'

/** Warns once if nothing takes the events that this process accepts. */
async function lookForWorker(shared: Shared, inbox: Inbox): Promise<void> {
  const { clock } = shared.settings
  const now = clock.monotonic()
  shared.lookAt ??= now + UNWORKED_MS
  if (shared.hasWorked || now < shared.lookAt) return
  shared.lookAt = now + UNWORKED_MS
  try {
    const { running, oldestDueAt = Number.POSITIVE_INFINITY } = await inbox.counts()
    if (running === 0 && clock.now() - oldestDueAt >= UNWORKED_MS) shared.reporter.warnOnce(UNWORKED)
  } catch {} // an engine that is away is reported by put()
}

/** Returns the lane of an event for its item. An event whose lane cannot be computed has none, and is accepted: refusing it would lose it. */
export function laneOf(shared: Shared, event: ParsedEvent, about: Route): string | undefined {
  const { settings, reporter } = shared
  const { lane, name } = settings
  if (lane === undefined) return undefined
  try {
    const text: unknown = lane === 'record' ? recordOf(event, about) : lane(withModel(event, about))
    if (text === undefined) return noLane(shared)
    shared.laneless = Number.NEGATIVE_INFINITY
    if (typeof text === 'string' && text !== '') return laneKey(name, event.accountKey, text)
    ignoreRejection(text)
    throw new TypeError(`lane returned ${show(text)}; it has to return a text, or undefined for no lane.`)
  } catch (cause) {
    const message =
      'lane failed: the event was accepted without a lane, so that its handlers may run while others of its lane do.'
    reporter.errorSparingly(new PosternError('hook_failed', message, { cause }))
    return undefined
  }
}

const MOST_LANELESS = 10

function noLane(shared: Shared): undefined {
  if (++shared.laneless === MOST_LANELESS)
    shared.reporter.warnOnce(
      `lane returned undefined for the first ${MOST_LANELESS} events, so that they have none. Is the name of its field right, such as event.data.record._id?`,
    )
}

function recordOf({ data }: ParsedEvent, { model }: Route): string | undefined {
  const id: unknown = Object(data.record)._id
  return model === undefined || typeof id !== 'string' || id === '' ? undefined : `${model.length}:${model}${id}`
}

/** The path of an event from the inbox: stops 5 to 10. Its signature and its age were checked when it was accepted. */
export function createItemRunner(shared: Shared, routes: Routes, runs: Runs) {
  const { reporter, settings } = shared
  const toDelivery = (item: TakenItem, errors: PosternError[], attempts: number, watch?: Watch): EventRequest => {
    const { source, receivedAt } = item
    const startedAt = settings.clock.monotonic()
    const claimBy = startedAt + STORE_LIMIT_MS
    const deadline = Number.POSITIVE_INFINITY
    const number = item.failures + 1
    const attempt = { number, isLast: number >= attempts }
    return { item, errors, startedAt, deadline, claimBy, source, receivedAt, attempt, waitUntil: undefined, watch }
  }
  let hasToldOther = false
  /** Returns an item to the inbox, for a worker of its own receiver. That does not count as a try. */
  const leave = (item: TakenItem): Tried => {
    if (!hasToldOther) reporter.error(toShared(settings.name, item))
    hasToldOther = true
    return { outcome: toOutcome('busy', item), marks: item.marks }
  }
  const tryItem = async (item: TakenItem, delivery: EventRequest): Promise<Tried> => {
    if (!isKeyOf(settings.name, item.key)) return leave(item)
    const refuse = (outcome: Outcome) => runs.recall(item, outcome, delivery)
    try {
      const parsed = parseEnvelope(item.bytes) // 5
      if (parsed instanceof Rejection) return await refuse(toRejected(parsed))
      const { event, text } = parsed
      if (shared.toKey(event.accountKey, event.id) !== item.key) return await refuse(toDamaged(event))
      const route = routes.isEmpty ? undefined : routes.find(event.type) // 6
      if (route === undefined) return await refuse(toOutcome('ignored', event))
      return await runs.work(item.key, withModel(event, route), route, delivery, text) // 7 to 10
    } catch (cause) {
      const error = new PosternError('unexpected', 'Postern itself failed while it worked on an event.', { cause })
      return { outcome: toFailed(500, 'unexpected', error, item), marks: item.marks }
    }
  }
  return {
    /**
     * Never rejects.
     *
     * @param attempts number of failed tries after which the item becomes a dead letter
     */
    async run(item: TakenItem, attempts: number, watch: Watch | undefined): Promise<Tried> {
      const errors: PosternError[] = []
      const delivery = toDelivery(item, errors, attempts, watch)
      const tried = await tryItem(item, delivery)
      const untold = toUntold(tried.outcome)
      if (untold !== undefined && !errors.includes(untold)) reporter.error(untold, delivery)
      reporter.outcome(tried.outcome, delivery)
      return { ...tried, errors }
    },
    /** Reads the marks of an event from the store, without parsing the event. Never rejects. */
    async recall(item: TakenItem): Promise<Tried> {
      if (!isKeyOf(settings.name, item.key)) return leave(item)
      const errors: PosternError[] = []
      const delivery = toDelivery(item, errors, Number.POSITIVE_INFINITY)
      return { ...(await runs.recall(item, toOutcome('ignored', item), delivery)), errors }
    },
  }
}

/** Returns the error that a try has to be reported with, if nothing has reported it yet. */
function toUntold(outcome: Outcome): PosternError | undefined {
  const { type = '' } = outcome
  if (outcome.outcome === 'failed' && outcome.code === 'unexpected') return outcome.error
  if (outcome.outcome === 'ignored')
    return new PosternError(
      'no_handlers',
      `No handler of this worker takes ${quote(type)}: import the module that registers it, or replace workers of an older version.`,
    )
  if (outcome.outcome !== 'rejected') return undefined
  if (outcome.code !== 'invalid_record') return new PosternError('unexpected', outcome.reason)
  const fix = 'onOutcome gets the issues. A looser schema, deployed before the last try, handles it.'
  return new PosternError('schema_failed', `${outcome.reason} ${fix}`)
}

function toShared(name: string, { type, id }: TakenItem): PosternError {
  const message = `The inbox holds events of a receiver of another name, such as ${quote(type)} ${quote(id)}: this worker, of ${quote(name)}, returns them to the inbox. If both are one service, createReceiver needs the same name in each of its processes. If not, give each service its own inbox, with its own table or queue. This is reported once.`
  return new PosternError('inbox_shared', message)
}

function toDamaged(event: ParsedEvent): Outcome {
  const message = `The inbox holds ${quote(event.type)} under the key of another event: something else has written there.`
  return toFailed(500, 'unexpected', new PosternError('unexpected', message), event)
}

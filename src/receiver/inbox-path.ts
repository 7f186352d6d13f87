import type { Inbox, InboxItem, TakenItem } from '../inbox/inbox.ts'
import type { Tried } from '../inbox/settle.ts'
import { type ParsedEvent, parseEnvelope, withModel } from '../protocol/envelope.ts'
import { PosternError } from '../protocol/errors.ts'
import { type Outcome, Rejection, toFailed, toOutcome, toRejected } from '../protocol/outcome.ts'
import { quote } from '../protocol/show.ts'
import type { Bodies } from './bodies.ts'
import type { Watch } from './observer.ts'
import type { Routes } from './routes.ts'
import type { EventRequest } from './run.ts'
import type { Runs } from './runs.ts'
import { failWithoutHandlers, type Shared } from './shared.ts'
import { callStore, STORE_LIMIT_MS, StoreFailure } from './store-call.ts'

/** Stop 7, the last one, of a receiver with an inbox: acknowledges the event only if the engine confirms in time that it is on disk. */
export async function accept(
  shared: Shared,
  bodies: Bodies,
  inbox: Inbox,
  event: Pick<InboxItem, 'key' | 'bytes' | 'accountKey' | 'id' | 'type'>,
  { deadline, receivedAt, source, watch }: EventRequest,
): Promise<Outcome> {
  const { settings, reporter } = shared
  const { length } = event.bytes
  if (shared.isClosing) return toOutcome('closing', event)
  if (!bodies.hold(length)) return toOutcome('overloaded', event)
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
  const answer = await (watch === undefined ? put() : reporter.within((work) => watch.put(item, work), put))
  bodies.letGo(length)
  if (!(answer instanceof StoreFailure)) return toOutcome('accepted', event)
  const message =
    'inbox.put() failed or did not answer in time; the event is not acknowledged, and the sender will retry.'
  const error = new PosternError('inbox_unavailable', message, { cause: answer.cause })
  reporter.errorSparingly(error)
  return toFailed(503, 'inbox_unavailable', error, event)
}

/** The path of an event from the inbox: stops 5 to 10, without the checks made when it was accepted. */
export function createItemRunner(shared: Shared, routes: Routes, runs: Runs) {
  const { reporter, settings } = shared
  const toDelivery = (item: TakenItem, attempts = Number.POSITIVE_INFINITY, watch?: Watch): EventRequest => {
    const { source, receivedAt } = item
    const startedAt = settings.clock.monotonic()
    const claimBy = startedAt + STORE_LIMIT_MS
    const deadline = Number.POSITIVE_INFINITY
    const number = item.failures + 1
    const attempt = { number, isLast: number >= attempts }
    return { item, startedAt, deadline, claimBy, source, receivedAt, attempt, waitUntil: undefined, watch }
  }
  const tryItem = async (item: TakenItem, delivery: EventRequest): Promise<Tried> => {
    const refuse = (outcome: Outcome) => runs.recall(item, outcome, delivery)
    try {
      const parsed = parseEnvelope(item.bytes) // 5
      if (parsed instanceof Rejection) return await refuse(toRejected(parsed))
      const { event, text } = parsed
      if (shared.toKey(event.accountKey, event.id) !== item.key) return await refuse(failForeign(reporter, event))
      if (routes.isEmpty) return await refuse(failWithoutHandlers(shared, event))
      const route = routes.find(event.type) // 6
      if (route === undefined) return await refuse(toOutcome('ignored', event))
      return await runs.work(item.key, withModel(event, route), route, delivery, text) // 7 to 10
    } catch (cause) {
      const error = new PosternError('unexpected', 'Postern itself failed while it worked on an event.', { cause })
      reporter.error(error)
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
      const delivery = toDelivery(item, attempts, watch)
      const tried = await tryItem(item, delivery)
      reporter.outcome(tried.outcome, delivery)
      return tried
    },
    /** Reads the marks of an event from the store, without parsing the event. Never rejects. */
    recall: (item: TakenItem): Promise<Tried> => runs.recall(item, toOutcome('ignored', item), toDelivery(item)),
  }
}

function failForeign(reporter: Shared['reporter'], event: ParsedEvent): Outcome {
  const message = `The inbox holds ${quote(event.type)} under the name of another receiver. Give each receiver its own inbox, with its own table or queue.`
  const error = new PosternError('inbox_shared', message)
  reporter.errorOnce(error)
  return toFailed(500, 'unexpected', error, event)
}

import type { Inbox, InboxItem } from '../inbox/inbox.ts'
import { PosternError } from '../protocol/errors.ts'
import { type Outcome, toFailed, toOutcome } from '../protocol/outcome.ts'
import type { Bodies } from './bodies.ts'
import type { EventRequest } from './run.ts'
import type { Shared } from './shared.ts'
import { callStore, STORE_LIMIT_MS, StoreFailure } from './store-call.ts'

/** Stop 7, the last one, of a receiver with an inbox: acknowledges the event only if the engine confirms in time that it is on disk. */
export async function accept(
  shared: Shared,
  bodies: Bodies,
  inbox: Inbox,
  event: Pick<InboxItem, 'key' | 'bytes' | 'accountKey' | 'id' | 'type'>,
  { deadline, source, watch }: EventRequest,
): Promise<Outcome> {
  const { settings, reporter } = shared
  const { length } = event.bytes
  if (shared.isClosing) return toOutcome('closing', event)
  if (!bodies.hold(length)) return toOutcome('overloaded', event)
  const limitMs = Math.min(STORE_LIMIT_MS, Math.max(deadline - settings.clock.monotonic(), 0))
  // The app may reuse its buffer after a late answer, while the engine still writes.
  const item = { ...event, bytes: new Uint8Array(event.bytes), receivedAt: settings.clock.now(), source }
  const put = (trace?: InboxItem['trace']) => {
    const traced = trace === undefined ? item : { ...item, trace }
    return callStore(shared, limitMs, () => inbox.put(traced) ?? STORED, toStored)
  }
  const answer = await (watch === undefined ? put() : reporter.within((work) => watch.put(item, work), put))
  bodies.letGo(length)
  if (!(answer instanceof StoreFailure)) return toOutcome('accepted', event)
  const message =
    'inbox.put() failed or did not answer in time; the event is not acknowledged, and the sender will retry.'
  const error = new PosternError('inbox_unavailable', message, { cause: answer.cause })
  reporter.strangersError(error)
  return toFailed(503, 'inbox_unavailable', error, event)
}

const STORED = true
const toStored = (): true => STORED

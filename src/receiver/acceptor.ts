import type { Inbox, InboxItem } from '../inbox/inbox.ts'
import type { ParsedEvent } from '../protocol/envelope.ts'
import { PosternError } from '../protocol/errors.ts'
import { type Outcome, toFailed, toOutcome } from '../protocol/outcome.ts'
import type { Bodies } from './bodies.ts'
import type { EventRequest } from './run.ts'
import type { Shared } from './shared.ts'
import { callStore, STORE_LIMIT_MS, StoreFailure } from './store-call.ts'

/** Stop 7, the last one, of a receiver with an inbox: stores the event for a worker. */
export class Acceptor {
  readonly #shared: Shared
  readonly #bodies: Bodies
  readonly #inbox: Inbox

  constructor(shared: Shared, bodies: Bodies, inbox: Inbox) {
    this.#shared = shared
    this.#bodies = bodies
    this.#inbox = inbox
  }

  /** Acknowledges the event only if the engine confirms in time that it is on disk. */
  async accept(key: string, event: ParsedEvent, body: Uint8Array, delivery: EventRequest): Promise<Outcome> {
    const { settings, reporter } = this.#shared
    const { clock } = settings
    const { source, watch } = delivery
    if (this.#shared.isClosing) return toOutcome('closing', event)
    if (!this.#bodies.hold(body.length)) return toOutcome('overloaded', event)
    const limitMs = Math.min(STORE_LIMIT_MS, Math.max(delivery.deadline - clock.monotonic(), 0))
    const { accountKey, id, type } = event
    // The app may reuse its buffer after a late answer, while the engine still writes.
    const bytes = new Uint8Array(body)
    const item = { key, bytes, accountKey, id, type, receivedAt: clock.now(), source }
    const put = (trace?: InboxItem['trace']) => {
      const traced = trace === undefined ? item : { ...item, trace }
      return callStore(this.#shared, limitMs, () => this.#inbox.put(traced) ?? STORED, toStored)
    }
    const answer = await (watch === undefined ? put() : reporter.within((work) => watch.put(item, work), put))
    this.#bodies.letGo(body.length)
    if (!(answer instanceof StoreFailure)) return toOutcome('accepted', event)
    const message =
      'inbox.put() failed or did not answer in time; the event is not acknowledged, and the sender will retry.'
    const error = new PosternError('inbox_unavailable', message, { cause: answer.cause })
    reporter.strangersError(error)
    return toFailed(503, 'inbox_unavailable', error, event)
  }
}

const STORED = true
const toStored = (): true => STORED

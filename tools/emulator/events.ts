import type { Clock } from '../../src/host/clock.ts'
import { splitType } from '../../src/protocol/events.ts'
import { MAX_ATTEMPTS, MAX_ID_LENGTH, MAX_TYPE_LENGTH } from '../../src/protocol/schedule.ts'
import { type BodyFormat, formatJson } from '../wire/json-forms.ts'
import { SAMPLES } from '../wire/samples.ts'
import { readEvent } from './answers.ts'
import type { Assumed } from './assumptions.ts'
import { writeAsJson } from './check-input.ts'
import type { EmulatorDelivery, StoredDelivery } from './delivery.ts'
import type { DeliveryLog } from './delivery-log.ts'
import type { Engine } from './engine.ts'
import type { Feed } from './feed.ts'
import type { Ids } from './random.ts'
import type { RecordChange } from './records.ts'
import { Refusal } from './refusal.ts'
import { isSubscribed } from './subscription.ts'
import type { Webhook, Webhooks } from './webhooks.ts'

/** Event to emit. */
export interface EventInput {
  readonly type: string
  /** Data. Default: a sample for its type. */
  readonly data?: unknown
  /** Id. Default: a new one. */
  readonly id?: string | undefined
  /** Timestamp in ISO 8601. Default: now, by the emulator's clock. */
  readonly timestamp?: string | undefined
  /** Account, unless the options name one. Default: the first account. */
  readonly accountKey?: string | undefined
}

/** Event that was emitted. */
export interface EmittedEvent {
  readonly id: string
  readonly type: string
  /** Ids of its deliveries: one for each active webhook of the account that is subscribed to the type. */
  readonly deliveries: readonly string[]
}

export interface EventsParts {
  readonly clock: Pick<Clock, 'now'>
  readonly assumed: Assumed
  readonly ids: Ids
  readonly webhooks: Webhooks
  readonly log: DeliveryLog
  readonly engine: Engine
  readonly feed: Feed
  readonly format: BodyFormat
}

/** Makes deliveries of events. Service text, sections 2.4 and 6. */
export class Events {
  readonly #parts: EventsParts

  constructor(parts: EventsParts) {
    this.#parts = parts
  }

  /** @param count number of duplicates if the event has an id, otherwise number of events */
  emit(accountKey: string, input: EventInput, count = 1): readonly EmittedEvent[] {
    const data = input.data === undefined ? this.sampleOf(input.type) : input.data
    const found = this.#findWebhooks(accountKey, input.type)
    const make = () => this.#make(accountKey, { ...input, data }, found)
    const first = make()
    this.#parts.log.mustTake(found.length * count, first.size * count)
    const made = [first, ...Array.from({ length: count - 1 }, make)]
    this.#send(made.flatMap(({ deliveries }) => deliveries))
    return made.map(({ id, deliveries }) => ({ id, type: input.type, deliveries: deliveries.map((each) => each.id) }))
  }

  /** Delivers a body as it is, to the webhooks that are subscribed to its type. */
  deliver(accountKey: string, bytes: Uint8Array): EmittedEvent {
    const { clock, ids, log } = this.#parts
    const { id, type } = Object(readEvent({ bytes }))
    if (typeof id !== 'string' || id === '' || id.length > MAX_ID_LENGTH) throw noEnvelope('id')
    if (typeof type !== 'string' || type === '' || type.length > MAX_TYPE_LENGTH) throw noEnvelope('type')
    const about = { eventId: id, eventType: type, createdAt: clock.now(), bytes }
    const found = this.#findWebhooks(accountKey, type)
    const deliveries = found.map((webhook) => newDelivery(webhook, { ...about, id: ids.object() }))
    log.mustTake(deliveries.length, deliveries.length * bytes.length)
    this.#send(deliveries)
    return { id, type, deliveries: deliveries.map((each) => each.id) }
  }

  /** Emits the event of a change, and writes both in one transaction. */
  announce({ accountKey, model, action, record }: RecordChange, write: () => void): void {
    const type = `${model}.${action}`
    const found = this.#findWebhooks(accountKey, type)
    const { deliveries, size } = this.#make(accountKey, { type, data: { record } }, found)
    this.#parts.log.mustTake(deliveries.length, size)
    this.#send(deliveries, write)
  }

  /** Returns sample data of an event: A38 for events that are not about a record. */
  sampleOf(type: string): unknown {
    const about = splitType(type)
    if (about !== undefined) {
      const _id = this.#parts.ids.object()
      return { record: about.action === 'deleted' ? { _id } : { _id, ...sampleFor(about.model) } }
    }
    const sample = sampleFor(type)
    switch (this.#parts.assumed.sampleData) {
      case 'sample':
        return sample
      case 'record':
        return { record: { _id: this.#parts.ids.object(), ...sample } }
      case 'empty':
        return {}
      case 'missing':
        return undefined
    }
  }

  #findWebhooks(accountKey: string, type: string): readonly Webhook[] {
    const { webhooks, assumed } = this.#parts
    return webhooks
      .list(accountKey)
      .filter(
        ({ active, events }) =>
          (active || assumed.eventsWhilePaused === 'kept') && isSubscribed(events, type, assumed.wildcards),
      )
  }

  #make(accountKey: string, { type, data, id, timestamp }: EventInput, webhooks: readonly Webhook[]) {
    const { clock, assumed, ids, format } = this.#parts
    const now = clock.now()
    const bytesOf = (eventId: string) => {
      const event = { id: eventId, type, timestamp: timestamp ?? new Date(now).toISOString(), accountKey, data }
      return new TextEncoder().encode(writeAsJson(() => formatJson(event, format, eventId)))
    }
    const eventId = id ?? ids.event()
    const bytes = bytesOf(eventId)
    const deliveries = webhooks.map((webhook, index): StoredDelivery => {
      const isOwn = assumed.eventIds === 'own-ids' && index > 0
      const ownId = isOwn ? ids.event() : eventId
      return newDelivery(webhook, {
        id: ids.object(),
        eventId: ownId,
        eventType: type,
        createdAt: now,
        bytes: isOwn ? bytesOf(ownId) : bytes,
      })
    })
    return { id: eventId, deliveries, size: deliveries.length * bytes.length }
  }

  #send(deliveries: readonly StoredDelivery[], write?: () => void): void {
    const { log, engine, feed } = this.#parts
    log.add(deliveries, write)
    for (const delivery of deliveries) feed.publish({ type: 'delivery', delivery })
    engine.schedule(deliveries)
  }
}

function noEnvelope(field: string): Refusal {
  return new Refusal('invalid', `the body is not an event: its ${field} must be a string`)
}

function sampleFor(key: string): object {
  return Object.entries(SAMPLES).find(([known]) => known === key)?.[1] ?? {}
}

/** Makes a delivery that is due immediately, with the whole schedule ahead. */
export function newDelivery(
  { id: webhookId, accountKey }: Webhook,
  about: Pick<EmulatorDelivery, 'id' | 'eventId' | 'eventType' | 'createdAt'> & { readonly bytes: Uint8Array },
): StoredDelivery {
  return {
    ...about,
    webhookId,
    accountKey,
    status: 'pending',
    attempts: [],
    nextAttemptAt: about.createdAt,
    remaining: MAX_ATTEMPTS,
    isInFlight: false,
    resendOf: undefined,
    signing: 'valid',
    signedBytes: undefined,
    note: undefined,
    made: 0,
    change: 0,
    ticket: 0,
  }
}

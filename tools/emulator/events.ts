import { splitType } from '../../src/protocol/events.ts'
import { findLikeType } from '../../src/protocol/find-meant-type.ts'
import { MAX_ATTEMPTS, MAX_ID_LENGTH, MAX_TYPE_LENGTH } from '../../src/protocol/schedule.ts'
import { type BodyFormat, formatJson } from '../wire/json-forms.ts'
import { SAMPLES } from '../wire/samples.ts'
import { readEvent } from './answers.ts'
import type { Assumed } from './assumptions.ts'
import { writeAsJson } from './check-input.ts'
import type { Core } from './core.ts'
import type { EmulatorDelivery, StoredDelivery } from './delivery.ts'
import type { DeliveryLog } from './delivery-log.ts'
import type { Engine } from './engine.ts'
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

export interface EventsParts extends Core {
  readonly webhooks: Webhooks
  readonly log: DeliveryLog
  readonly engine: Engine
  readonly format: BodyFormat
}

/** Creates what makes deliveries of events. Service text, sections 2.4 and 6. */
export function createEvents({ clock, assumed, ids, webhooks, log, engine, feed, format }: EventsParts) {
  const findWebhooks = (accountKey: string, type: string): readonly Webhook[] =>
    webhooks
      .list(accountKey)
      .filter(
        ({ active, events }) =>
          (active || assumed.eventsWhilePaused === 'kept') && isSubscribed(events, type, assumed.wildcards),
      )
  const make = (
    accountKey: string,
    { type, data, id = ids.event(), timestamp }: EventInput,
    found: readonly Webhook[],
  ) => {
    const createdAt = clock.now()
    const write = (eventId: string) => {
      const event = { id: eventId, type, timestamp: timestamp ?? new Date(createdAt).toISOString(), accountKey, data }
      const bytes = new TextEncoder().encode(writeAsJson(() => formatJson(event, format, eventId)))
      return { eventId, eventType: type, createdAt, bytes }
    }
    const first = write(id)
    const deliveries = found.map((webhook, index) => {
      const isShared = assumed.eventIds === 'same-id' || index === 0
      return newDelivery(webhook, { id: ids.object(), ...(isShared ? first : write(ids.event())) })
    })
    return { id, deliveries, size: deliveries.length * first.bytes.length }
  }
  const send = (deliveries: readonly StoredDelivery[], write?: () => void) => {
    log.add(deliveries, write)
    for (const delivery of deliveries) feed.publish({ type: 'delivery', delivery })
    engine.schedule(deliveries)
  }
  const sampleOf = (type: string) => makeSample(type, ids, assumed.sampleData)
  return {
    /** Returns sample data of an event: A38 for events that are not about a record. */
    sampleOf,
    /** @param count number of duplicates if the event has an id, otherwise number of events */
    emit(accountKey: string, input: EventInput, count = 1): readonly EmittedEvent[] {
      const data = input.data === undefined ? sampleOf(input.type) : input.data
      const found = findWebhooks(accountKey, input.type)
      const meant = found.length > 0 ? undefined : findLikeType(input.type)
      if (meant !== undefined) feed.warn(`"${input.type}" is not a type of the service; did you mean ${meant}?`)
      const makeOne = () => make(accountKey, { ...input, data }, found)
      const first = makeOne()
      log.mustTake(found.length * count, first.size * count)
      const made = [first, ...Array.from({ length: count - 1 }, makeOne)]
      send(made.flatMap(({ deliveries }) => deliveries))
      return made.map(({ id, deliveries }) => ({ id, type: input.type, deliveries: deliveries.map((each) => each.id) }))
    },
    /** Delivers a body as it is, to the webhooks that are subscribed to its type. */
    deliver(accountKey: string, bytes: Uint8Array): EmittedEvent {
      const { id, type } = Object(readEvent({ bytes }))
      if (typeof id !== 'string' || id === '' || id.length > MAX_ID_LENGTH) throw noEnvelope('id')
      if (typeof type !== 'string' || type === '' || type.length > MAX_TYPE_LENGTH) throw noEnvelope('type')
      const about = { eventId: id, eventType: type, createdAt: clock.now(), bytes }
      const deliveries = findWebhooks(accountKey, type).map((webhook) =>
        newDelivery(webhook, { ...about, id: ids.object() }),
      )
      log.mustTake(deliveries.length, deliveries.length * bytes.length)
      send(deliveries)
      return { id, type, deliveries: deliveries.map((each) => each.id) }
    },
    /** Emits the event of a change, and writes both in one transaction. */
    announce({ accountKey, model, action, record }: RecordChange, write: () => void): void {
      const type = `${model}.${action}`
      const { deliveries, size } = make(accountKey, { type, data: { record } }, findWebhooks(accountKey, type))
      log.mustTake(deliveries.length, size)
      send(deliveries, write)
    },
  }
}

function makeSample(type: string, ids: Ids, form: Assumed['sampleData']): unknown {
  const about = splitType(type)
  const _id = ids.object()
  if (about !== undefined) return { record: about.action === 'deleted' ? { _id } : { _id, ...sampleFor(about.model) } }
  const sample = sampleFor(type)
  return { sample, record: { record: { _id, ...sample } }, empty: {}, missing: undefined }[form]
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

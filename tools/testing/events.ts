import { createHash, randomBytes } from 'node:crypto'
import type { Contact } from '../../src/models/contact.ts'
import {
  type Action,
  type DeletedRecord,
  type ModelEvent,
  type OpenData,
  type OpenRecord,
  type ServiceEventType,
  splitType,
  type WebhookEvent,
} from '../../src/protocol/events.ts'
import { OptionChecker } from '../../src/protocol/option-checker.ts'
import { show } from '../../src/protocol/show.ts'
import { SAMPLES } from '../wire/samples.ts'

/** Fields of the envelope that a caller may set. */
export interface EnvelopeOptions {
  readonly id?: string | undefined
  readonly accountKey?: string | undefined
  /** Timestamp in ISO 8601. */
  readonly timestamp?: string | undefined
}

/** Builders of the three events about records of one model. */
export interface ModelBuilders<Model extends string, R> {
  /** Builds a created event. Missing fields of a contact get plausible values. */
  created(record?: Partial<R>, envelope?: EnvelopeOptions): ModelEvent<Model, 'created', R>
  updated(record?: Partial<R>, envelope?: EnvelopeOptions): ModelEvent<Model, 'updated', R>
  /** Builds a deleted event, which carries only the `_id` of the record. */
  deleted(id?: string, envelope?: EnvelopeOptions): ModelEvent<Model, 'deleted', DeletedRecord>
}

type DataBuilder<Type extends string> = (data?: OpenData, envelope?: EnvelopeOptions) => WebhookEvent<Type>

/** Builders for all event types of the service. */
export interface EventBuilders {
  readonly contact: ModelBuilders<'contact', Contact>
  /**
   * Returns builders for any other model: `events.model<Opportunity>('opportunity').created({ … })`. A record gets an `_id` and the
   * passed fields: pass all fields that `Opportunity` requires and the handlers read.
   */
  model<R = OpenRecord, const Model extends string = string>(model: Model): ModelBuilders<Model, R>
  readonly paymentCompleted: DataBuilder<'finance.payment.completed'>
  readonly paymentFailed: DataBuilder<'finance.payment.failed'>
  readonly syncCompleted: DataBuilder<'sync.completed'>
  readonly syncFailed: DataBuilder<'sync.failed'>
  readonly importCompleted: DataBuilder<'import.completed'>
  readonly exportCompleted: DataBuilder<'export.completed'>
  /** Builds an event of any type with any data, for undocumented events of the service. */
  raw<const Type extends string>(type: Type, data?: OpenData, envelope?: EnvelopeOptions): WebhookEvent<Type>
}

const SEEDED_START = Date.UTC(2025, 0, 1)

/**
 * Creates builders of events. With a seed, the same calls in the same order build the same events. Without one, every event has an id
 * that no earlier test run used, so that a persistent store does not take it for a duplicate.
 */
export function createEvents(options: { readonly seed?: string | number | undefined } = {}): EventBuilders {
  new OptionChecker('createEvents').mustHaveOnly(options, ['seed'])
  const { seed } = options
  let count = 0
  const nextHex = () => {
    count++
    return seed === undefined
      ? randomBytes(12).toString('hex')
      : createHash('sha256').update(`${seed}:${count}`).digest('hex').slice(0, 24)
  }
  const now = () => (seed === undefined ? new Date() : new Date(SEEDED_START + count * 1_000)).toISOString()

  const raw = <const Type extends string>(
    type: Type,
    data: OpenData = {},
    envelope: EnvelopeOptions = {},
  ): WebhookEvent<Type> => {
    return {
      id: `evt_${nextHex()}`,
      type,
      timestamp: now(),
      accountKey: 'acme',
      ...Object.fromEntries(Object.entries(envelope).filter(([, value]) => value !== undefined)),
      data,
      ...splitType(type), // as handlers get it; `signed` leaves it out
    }
  }
  const data =
    <const Type extends ServiceEventType>(type: Type): DataBuilder<Type> =>
    (given = { ...SAMPLES[type] }, envelope) =>
      raw(type, given, envelope)

  function model<R, Model extends string>(name: Model, sample: OpenData): ModelBuilders<Model, R> {
    if (name.includes('.'))
      throw new TypeError(`model() takes the key of a model, such as "opportunity", not ${show(name)}.`)
    const build = <A extends Action, T>(action: A, record: T, envelope: EnvelopeOptions | undefined) =>
      raw(`${name}.${action}`, { record }, envelope) as unknown as ModelEvent<Model, A, T> // raw adds model and action
    const full = (record: Partial<R> | undefined) => {
      const made = { _id: nextHex(), ...sample }
      const { _id = made._id, ...rest }: OpenData = { ...record }
      return { ...made, ...rest, _id } as R // the sample is assumed to have the fields that R requires
    }
    return {
      created: (record, envelope) => build('created', full(record), envelope),
      updated: (record, envelope) => build('updated', full(record), envelope),
      deleted: (id, envelope) => build('deleted', { _id: id ?? nextHex() }, envelope),
    }
  }

  return {
    contact: model('contact', { ...SAMPLES.contact }),
    model: (name) => model(name, {}),
    paymentCompleted: data('finance.payment.completed'),
    paymentFailed: data('finance.payment.failed'),
    syncCompleted: data('sync.completed'),
    syncFailed: data('sync.failed'),
    importCompleted: data('import.completed'),
    exportCompleted: data('export.completed'),
    raw,
  }
}

/** Event builders without a seed. */
export const events: EventBuilders = createEvents()

import { createHash, randomBytes } from 'node:crypto'
import { type Clock, systemClock } from '../../src/host/clock.ts'
import type { Contact } from '../../src/models/contact.ts'
import {
  type Action,
  type DeletedRecord,
  findSpelling,
  type ModelEvent,
  type OpenData,
  type OpenRecord,
  type ServiceEventType,
  splitType,
  type WebhookEvent,
} from '../../src/protocol/events.ts'
import { findMeantModel } from '../../src/protocol/find-meant-type.ts'
import { parseTime } from '../../src/protocol/iso-time.ts'
import {
  closeCalls,
  FILLED_TEXT,
  type Kind,
  OBJECT,
  OptionChecker,
  SEED,
  TEXT,
  withMethods,
} from '../../src/protocol/option-checker.ts'
import { show } from '../../src/protocol/show.ts'
import { SAMPLES } from '../wire/samples.ts'
import { findMisspelt } from './find-misspelt.ts'
import { warnOnce } from './warn-once.ts'

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

/** Options of `createEvents`. */
export interface EventsOptions {
  /** Builds the same events by the same calls in the same order: their ids, and without a clock their times, which begin in 2025. */
  readonly seed?: string | number | undefined
  /** Clock of the timestamps, such as that of the sender. Default: the system clock. */
  readonly clock?: Pick<Clock, 'now'> | undefined
}

const SEEDED_START = Date.UTC(2025, 0, 1)
const ENVELOPE: Readonly<Record<keyof EnvelopeOptions, Kind>> = {
  id: FILLED_TEXT,
  accountKey: FILLED_TEXT,
  timestamp: TEXT,
}

/** A model that is none misspelt goes by `raw`. */
function findModel(key: string): string | undefined {
  const meant = findMeantModel(key)
  return meant && `"${meant}"; if there is such a model, use events.raw("${key}.created", { record })`
}

const MODEL_KEY: Kind = (value) =>
  typeof value === 'string' && /^[^.*\s]+$/.test(value)
    ? (findSpelling(value) ?? findModel(value))
    : 'the key of a model, such as "opportunity"'

/** Fields of a record, or of the data of an event, which may not stand in a field of this name. */
const fieldsOf =
  (what: string, nested: RegExp): Kind =>
  (value) => {
    const [only = '', ...others] = Object.keys(Object(value))
    const isNested = others.length === 0 && nested.test(only) && OBJECT(Object(value)[only]) === undefined
    return isNested ? `the fields of the ${what} itself, not { ${only} }` : OBJECT(value)
  }

const KINDS: Readonly<Record<string, Kind>> = {
  type: FILLED_TEXT,
  id: FILLED_TEXT,
  record: fieldsOf('record', /^(data|record)$/),
  data: fieldsOf('data', /^data$/),
}
const KINDS_OF_RAW: typeof KINDS = { ...KINDS, data: OBJECT }

/** Checks the arguments of a builder, of which all but the first may be left out. */
function checkBuilder(name: string, given: Readonly<Record<string, unknown>>, envelope: unknown): void {
  const check = new OptionChecker(`events.${name}`)
  const kinds = name === 'raw' ? KINDS_OF_RAW : KINDS
  for (const [argument, value] of Object.entries(given))
    if (value !== undefined || argument === 'type') check.mustBe(argument, value, kinds[argument] ?? OBJECT)
  if (envelope !== undefined) check.mustFit(envelope, ENVELOPE)
  const { timestamp }: EnvelopeOptions = Object(envelope)
  if (name === 'raw' || timestamp === undefined || !Number.isNaN(parseTime(timestamp))) return
  warnOnce(
    `events.${name}: timestamp is ${show(timestamp)}, not ISO 8601, which the service sends. If it is intended, use events.raw().`,
  )
}

/** Letters of a field that differs from a documented one by a slip, and is not a custom one: `mail` may be. */
const LEAST_LETTERS = 5

function mustNameFields(builder: string, record: object, known: readonly string[]): void {
  if (known.length === 0) return
  const check = new OptionChecker(builder)
  const names = Object.keys(record).filter((name) => name.length >= LEAST_LETTERS)
  if ('id' in record && !('_id' in record)) throw check.invalid('a record has no field "id"; did you mean "_id"?')
  if ('accountKey' in record)
    throw check.invalid('accountKey is no field of the record; it stands in the argument behind it.')
  const misspelt = findMisspelt(names, known)
  if (misspelt === undefined) return
  const [type] = builder.match(/\w+\.\w+$/) ?? []
  throw check.invalid(
    `the service names no ${misspelt} A field of the account goes by events.raw("${type}", { record }).`,
  )
}

/**
 * Creates builders of events. With a seed, the same calls in the same order build the same events. Without one, every event has an id
 * that no earlier test run used, so that a persistent store does not take it for a duplicate.
 *
 * @throws ConfigurationError `option_invalid`, `option_unknown`, also by its builders
 */
export function createEvents(options?: EventsOptions): EventBuilders
export function createEvents(options: EventsOptions = {}, next?: unknown): EventBuilders {
  const check = new OptionChecker('createEvents')
  check.mustFit(options, { seed: SEED, clock: withMethods('now') })
  check.mustEnd(next)
  const { seed, clock } = options
  let count = 0
  const nextHex = () => {
    count++
    return seed === undefined
      ? randomBytes(12).toString('hex')
      : createHash('sha256').update(`${seed}:${count}`).digest('hex').slice(0, 24)
  }
  const now = () => {
    const isSeeded = seed !== undefined && clock === undefined
    return new Date(isSeeded ? SEEDED_START + count * 1_000 : (clock ?? systemClock).now()).toISOString()
  }

  const build = <const Type extends string>(
    type: Type,
    data: OpenData,
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
    <const Type extends ServiceEventType>(name: string, type: Type): DataBuilder<Type> =>
    (given, envelope) => {
      checkBuilder(name, { data: given }, envelope)
      return build(type, given ?? { ...SAMPLES[type] }, envelope)
    }

  function model<R, Model extends string>(name: Model, sample: OpenData): ModelBuilders<Model, R> {
    const buildOf = <A extends Action, T>(action: A, record: T, envelope: EnvelopeOptions | undefined) =>
      build(`${name}.${action}`, { record }, envelope) as unknown as ModelEvent<Model, A, T> // build adds model and action
    const withSample =
      <A extends Action>(action: A) =>
      (record?: Partial<R>, envelope?: EnvelopeOptions) => {
        checkBuilder(`${name}.${action}`, { record }, envelope)
        mustNameFields(`events.${name}.${action}`, Object(record), Object.keys(sample))
        const made = { _id: nextHex(), ...sample }
        const { _id = made._id, ...rest }: OpenData = { ...record }
        return buildOf(action, { ...made, ...rest, _id } as R, envelope) // the sample is assumed to have the fields that R requires
      }
    return {
      created: withSample('created'),
      updated: withSample('updated'),
      deleted(id, envelope) {
        checkBuilder(`${name}.deleted`, { id }, envelope)
        return buildOf('deleted', { _id: id ?? nextHex() }, envelope)
      },
    }
  }

  return closeCalls<EventBuilders>('events', {
    contact: model('contact', { ...SAMPLES.contact }),
    model(name) {
      new OptionChecker('events.model').mustBe('model', name, MODEL_KEY)
      return closeCalls(`events.${name}`, model(name, {}))
    },
    paymentCompleted: data('paymentCompleted', 'finance.payment.completed'),
    paymentFailed: data('paymentFailed', 'finance.payment.failed'),
    syncCompleted: data('syncCompleted', 'sync.completed'),
    syncFailed: data('syncFailed', 'sync.failed'),
    importCompleted: data('importCompleted', 'import.completed'),
    exportCompleted: data('exportCompleted', 'export.completed'),
    raw(type, given, envelope) {
      checkBuilder('raw', { type, data: given }, envelope)
      return build(type, given ?? {}, envelope)
    },
  })
}

/** Event builders without a seed, by the system clock. */
export const events: EventBuilders = createEvents()

import type { WebhookEvent } from '../protocol/events.ts'
import { ACTIONS, SERVICE_EVENT_TYPES, splitType } from '../protocol/events.ts'
import { MAX_TYPE_LENGTH } from '../protocol/schedule.ts'
import type { EnvelopeOptions, EventBuilders } from '../testing/events.ts'
import { EXIT, ExitError } from './io.ts'
import { findNearest } from './nearest.ts'

/** Models that the service's text names; there may be any others. */
export const NAMED_MODELS = ['contact', 'opportunity', 'financeInvoice']

/** What `{model}` may be. */
export const MODEL_KEY = /^[A-Za-z][A-Za-z0-9_]*$/

/** The three types of a model. */
export function typesOf(model: string): readonly string[] {
  return ACTIONS.map((action) => `${model}.${action}`)
}

/**
 * Ends the command where a type was probably misspelt: any model may exist, but one that differs from `contact` in a letter is
 * rather a slip.
 *
 * @param isAny the user means it, whatever it is
 */
export function mustBeType(type: string, isAny: boolean): void {
  if (type === '' || type.length > MAX_TYPE_LENGTH)
    throw new ExitError(EXIT.usage, `An event type has 1 to ${MAX_TYPE_LENGTH} characters.`)
  const known = [...NAMED_MODELS.flatMap(typesOf), ...SERVICE_EVENT_TYPES]
  if (isAny || known.includes(type)) return
  const model = splitType(type)?.model
  if (model !== undefined && MODEL_KEY.test(model)) {
    const named = NAMED_MODELS.includes(model) ? undefined : findNearest(model, NAMED_MODELS)
    if (named === undefined) return
    throw refuse(type, type.replace(model, named))
  }
  throw refuse(type, findNearest(type, known, Math.ceil(type.length / 4)))
}

function refuse(type: string, nearest: string | undefined): ExitError {
  const types = `{model}.created, {model}.updated, {model}.deleted, ${SERVICE_EVENT_TYPES.join(', ')}`
  const meant = nearest === undefined ? `The service names ${types}.` : `Did you mean ${nearest}?`
  return new ExitError(
    EXIT.usage,
    `${JSON.stringify(type)} is not a type of the service. ${meant} If it is meant as it stands, add --any-type.`,
  )
}

/** A plausible event of any type, as it is in the JSON of a delivery. */
export function buildEvent(builders: EventBuilders, type: string, envelope: EnvelopeOptions): WebhookEvent {
  return JSON.parse(JSON.stringify(build(builders, type, envelope)))
}

function build(builders: EventBuilders, type: string, envelope: EnvelopeOptions): object {
  switch (type) {
    case 'finance.payment.completed':
      return builders.paymentCompleted(undefined, envelope)
    case 'finance.payment.failed':
      return builders.paymentFailed(undefined, envelope)
    case 'sync.completed':
      return builders.syncCompleted(undefined, envelope)
    case 'sync.failed':
      return builders.syncFailed(undefined, envelope)
    case 'import.completed':
      return builders.importCompleted(undefined, envelope)
    case 'export.completed':
      return builders.exportCompleted(undefined, envelope)
  }
  const parts = splitType(type)
  if (parts === undefined) return builders.raw(type, {}, envelope)
  const { model, action } = parts
  return (model === 'contact' ? builders.contact : builders.model(model))[action](undefined, envelope)
}

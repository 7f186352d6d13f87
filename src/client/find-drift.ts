import { FLAG, OptionChecker, TEXTS } from '../protocol/option-checker.ts'

/** Event types that a receiver handles, as its `eventTypes()` returns them. */
export interface HandledTypes {
  readonly types: readonly string[]
  /** True if a wildcard also handles types beyond these. */
  readonly open: boolean
}

/** Differences between a receiver's handlers and a webhook's subscription. */
export interface Drift {
  /** Types that are handled but not subscribed to: never delivered. */
  readonly missing: readonly string[]
  /** Types that are subscribed to but not handled: delivered, and ignored. Empty if a wildcard handles any type. */
  readonly unhandled: readonly string[]
  readonly isNone: boolean
}

const check = new OptionChecker('findDrift')

/**
 * Compares the event types that a receiver handles with those that a webhook is subscribed to.
 *
 * @throws ConfigurationError `option_invalid`, `option_unknown`
 * @example
 * const { missing } = findDrift(receiver.eventTypes(), webhook.events ?? [])
 * if (missing.length > 0) await client.webhooks.update(webhook.id, { events: receiver.eventTypes().types })
 */
export function findDrift(handled: HandledTypes, subscribed: readonly string[]): Drift {
  if (typeof Object(handled).eventTypes === 'function')
    throw check.invalid('it was given a receiver; give what it handles: findDrift(receiver.eventTypes(), subscribed).')
  check.mustFit(handled, { types: TEXTS, open: FLAG }, ['types', 'open'])
  check.mustBe('subscribed', subscribed, TEXTS)
  const missing = handled.types.filter((type) => !subscribed.includes(type))
  const unhandled = handled.open ? [] : subscribed.filter((type) => !handled.types.includes(type))
  return { missing, unhandled, isNone: missing.length === 0 && unhandled.length === 0 }
}

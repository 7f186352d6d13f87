/** What a receiver handles: what its `eventTypes()` gives. */
export interface HandledTypes {
  readonly types: readonly string[]
  /** Whether a wildcard also takes types beyond these. */
  readonly open: boolean
}

/** Where a receiver's handlers and a webhook's subscription differ. */
export interface Drift {
  /** Handled, but not subscribed to: never delivered. */
  readonly missing: readonly string[]
  /** Subscribed to, but not handled: delivered, and ignored. Empty where a wildcard takes anything. */
  readonly unhandled: readonly string[]
  readonly isNone: boolean
}

/**
 * Compares what a receiver handles with what a webhook is subscribed to.
 *
 * @example
 * const { missing } = findDrift(receiver.eventTypes(), webhook.events ?? [])
 * if (missing.length > 0) await client.webhooks.update(webhook.id, { events: receiver.eventTypes().types })
 */
export function findDrift(handled: HandledTypes, subscribed: readonly string[]): Drift {
  const missing = handled.types.filter((type) => !subscribed.includes(type))
  const unhandled = handled.open ? [] : subscribed.filter((type) => !handled.types.includes(type))
  return { missing, unhandled, isNone: missing.length === 0 && unhandled.length === 0 }
}

import type { SIGNINGS } from '../wire/signings.ts'

/** Kind of signature. Only a resent delivery can have another one than `valid`. */
export type Signing = keyof typeof SIGNINGS

/** Reason of a failed attempt. `paused` exists only if attempts count while the webhook is paused (A32). */
export type FailureKind =
  | 'status'
  | 'timeout'
  | 'refused'
  | 'reset'
  | 'dns'
  | 'tls'
  | 'redirect'
  | 'blocked-url'
  | 'paused'

/** Durations of the phases of an attempt, in milliseconds; a phase that was not reached is absent. */
export interface AttemptPhases {
  /** Time to connect, including TLS if the URL uses it. */
  readonly connectMs?: number | undefined
  /** Time from the connection to the status. */
  readonly waitMs?: number | undefined
  /** Time from the status to the end of the body. */
  readonly bodyMs?: number | undefined
}

/** Request to a receiver, with its outcome. */
export interface DeliveryAttempt {
  /** Number of the attempt, from 1, over the whole life of the delivery. */
  readonly number: number
  readonly url: string
  /** Start in milliseconds since 1970, by the emulator's clock. */
  readonly at: number
  readonly durationMs: number
  /** Durations of its phases; undefined if nothing was sent. */
  readonly phases?: AttemptPhases | undefined
  /** Status of the answer; undefined if none came in time. */
  readonly status: number | undefined
  /** Reason of the failure; undefined if a 2xx came in time. */
  readonly failure: FailureKind | undefined
  /** Description of the failure. */
  readonly error: string | undefined
  /** Headers in the order in which they were sent; undefined if nothing was. */
  readonly requestHeaders?: readonly (readonly [name: string, value: string])[] | undefined
  readonly responseHeaders: Readonly<Record<string, string>>
  /** First 64 KiB of the body, as text. */
  readonly responseBody: string
  /** Number of bytes after which the body was cut, by the limit, the deadline or the receiver; undefined if it is whole. */
  readonly responseCutAt?: number | undefined
}

/** State of a delivery: `pending` until an attempt succeeds or the last one fails. */
export type DeliveryStatus = 'pending' | 'success' | 'failed'

/** Delivery of one event to one webhook. Service text, section 3.2. */
export interface EmulatorDelivery {
  readonly id: string
  readonly accountKey: string
  readonly webhookId: string
  readonly eventId: string
  readonly eventType: string
  /** Time of creation in milliseconds since 1970. */
  readonly createdAt: number
  readonly status: DeliveryStatus
  readonly attempts: readonly DeliveryAttempt[]
  /** Time of the next attempt in milliseconds since 1970; undefined if there is none. */
  readonly nextAttemptAt: number | undefined
  /** True if an attempt is in progress. */
  readonly isInFlight: boolean
  /** Id of the delivery that this one repeats, if it was resent by hand. */
  readonly resendOf: string | undefined
  readonly signing: Signing
  /** Reason of a failure without an attempt, such as that its webhook was deleted. */
  readonly note: string | undefined
}

/** Mutable delivery of the log and the engine. */
export interface StoredDelivery extends EmulatorDelivery {
  status: DeliveryStatus
  attempts: readonly DeliveryAttempt[]
  nextAttemptAt: number | undefined
  isInFlight: boolean
  note: string | undefined
  /** Exact bytes of the body. */
  bytes: Uint8Array
  /** Bytes before an edit, which `stale-bytes` signs. */
  readonly signedBytes: Uint8Array | undefined
  /** Place of its event in the inbox of the receiver; undefined if it is not known. */
  standing?: Standing | undefined
  /** Number of attempts left. */
  remaining: number
  /** Number in the order of creation, and number of its last change; both in this run of the emulator. */
  made: number
  change: number
  /** Number that grows with every new plan, so that earlier entries in the queue become invalid. */
  ticket: number
}

/** Reason of a failure in one line, with the names of the handlers that failed. Equal for all that failed alike. */
export interface Reason {
  readonly text: string
  readonly handlers: readonly string[]
}

/**
 * Place of an accepted event in the inbox of its receiver: `gone` once it was handled, `dropped` by the user of the page, `left` if it was
 * dropped or replayed elsewhere.
 */
export interface Standing {
  readonly state: 'waiting' | 'running' | 'dead' | 'gone' | 'left' | 'dropped'
  readonly key: string
  readonly dueAt: string | null
  /** Number of failed tries since it was accepted or replayed, and of all tries. */
  readonly failures: number
  readonly tried: number
  /** Reason why the last try of a worker failed. */
  readonly reason: Reason | null
  /** Reason for which it waits if its last try did not count as failed, such as that another process handles it. */
  readonly putOff: string | null
  /** True if it waits although it is due, and no worker runs anything. */
  readonly isOverdue: boolean
}

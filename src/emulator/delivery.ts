import type { Signing } from './signing.ts'

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

/** Times of the parts of an attempt, in milliseconds; a part that was not reached is absent. */
export interface AttemptPhases {
  /** Until there was a connection, with TLS if the URL has it. */
  readonly connectMs?: number | undefined
  /** From then until the status came. */
  readonly waitMs?: number | undefined
  /** From then until the end of the body. */
  readonly bodyMs?: number | undefined
}

/** One request to a receiver, and its outcome. */
export interface DeliveryAttempt {
  /** From 1, over the whole life of the delivery. */
  readonly number: number
  readonly url: string
  /** When it started, in milliseconds since 1970, by the emulator's clock. */
  readonly at: number
  readonly durationMs: number
  /** Times of its parts; undefined if nothing was sent. */
  readonly phases?: AttemptPhases | undefined
  /** Of the answer; undefined if none came in time. */
  readonly status: number | undefined
  /** Undefined if a 2xx came in time. */
  readonly failure: FailureKind | undefined
  /** The failure in words. */
  readonly error: string | undefined
  readonly responseHeaders: Readonly<Record<string, string>>
  /** The first 4 KiB, as text. */
  readonly responseBody: string
}

export type DeliveryStatus = 'pending' | 'success' | 'failed'

/** One event on its way to one webhook. Service text, section 3.2. */
export interface Delivery {
  readonly id: string
  readonly accountKey: string
  readonly webhookId: string
  readonly eventId: string
  readonly eventType: string
  /** In milliseconds since 1970. */
  readonly createdAt: number
  readonly status: DeliveryStatus
  readonly attempts: readonly DeliveryAttempt[]
  /** In milliseconds since 1970; undefined if none is to come. */
  readonly nextAttemptAt: number | undefined
  /** Whether an attempt is under way. */
  readonly isInFlight: boolean
  /** The delivery that this one repeats, if it was resent by hand. */
  readonly resendOf: string | undefined
  readonly signing: Signing
  /** Reason of a failure without an attempt, such as that its webhook was deleted. */
  readonly note: string | undefined
}

/** A delivery as log and engine keep it, open to change. */
export interface StoredDelivery extends Delivery {
  status: DeliveryStatus
  attempts: readonly DeliveryAttempt[]
  nextAttemptAt: number | undefined
  isInFlight: boolean
  note: string | undefined
  /** The exact body. */
  bytes: Uint8Array
  /** Bytes that the signature covers, if they are not the body. */
  readonly signedBytes: Uint8Array | undefined
  /** Attempts that are left before it has failed. */
  remaining: number
  /** URL of the first attempt. */
  readonly firstUrl: string
  /** Its place among those that have finished, in the order in which they did; undefined while it is pending. */
  finishOrder: number | undefined
  /** Grows with every change of plan, so that an older place in the queue no longer counts. */
  ticket: number
}

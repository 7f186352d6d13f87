import * as z from 'zod'
import type { DeliveryAttempt, EmulatorDelivery, Reason, Standing } from './delivery.ts'

// The control interface. Types: what the emulator writes and its page reads; times are text in ISO 8601. Schemas, at the end: what the command
// line reads of it; it computes with milliseconds since 1970.

/** An attempt in a message. */
export interface AttemptDetail extends Omit<DeliveryAttempt, 'at'> {
  readonly at: string
}

/** A delivery in a message. */
export interface DescribedDelivery extends Omit<EmulatorDelivery, 'createdAt' | 'nextAttemptAt' | 'attempts'> {
  readonly createdAt: string
  readonly nextAttemptAt: string | null
  readonly attempts: readonly AttemptDetail[]
}

/** `GET deliveries/ID`: a delivery with its body. */
export interface DeliveryDetail extends DescribedDelivery {
  readonly body: { readonly base64: string; readonly text: string }
}

/** Webhook registration without its secret. */
export interface WebhookShape {
  readonly id: string
  readonly accountKey: string
  readonly url: string
  readonly events: readonly string[]
  readonly description: string | undefined
  /** False if the webhook is paused. Section 3.1. */
  readonly active: boolean
  /** Time of creation in ISO 8601, UTC. */
  readonly createdAt: string
}

/** `GET clock`, `POST clock`. */
export interface ClockShape {
  readonly isManual: boolean
  readonly now: string
  readonly nextDueAt: string | null
  readonly inFlight: number
}

/** The faults of deliveries in force. */
interface FaultShape {
  readonly fail: number
  readonly duplicate: number
  readonly shuffle: boolean
  readonly latencyMs?: readonly [number, number] | undefined
}

/** `GET state`, `POST reset`: a summary of the emulator. */
export interface EmulatorState {
  readonly bootId: string
  readonly clock: ClockShape
  readonly accounts: readonly { readonly key: string; readonly email: string }[]
  readonly webhooks: readonly WebhookShape[]
  readonly counts: { readonly records: number; readonly deliveries: number; readonly pending: number }
  readonly faults: {
    /** Answers that the next calls of the API get. */
    readonly answers: readonly { readonly answer: string; readonly count: number }[]
    readonly deliveries: FaultShape
  }
  readonly settings: {
    readonly retryScale: number
    readonly deadlineMs: number
    readonly signatureHeader: string
    readonly dialect: string
  }
  readonly assumed: Readonly<Record<string, string>>
  /** True if the page can show the receiver's inbox. */
  readonly hasInbox: boolean
}

/** A delivery as one line of the list, or an event of an inbox, whose id is its key. */
export interface Row {
  readonly id: string
  /** Number in the order of creation, and number of its last change; both in this run of the emulator. */
  readonly made: number
  readonly change: number
  readonly account: string
  /** Empty for an event of an inbox. */
  readonly webhook: string
  readonly event: string
  readonly type: string
  readonly status: DescribedDelivery['status']
  /** Kind of signature; any but `valid` was chosen by hand. */
  readonly signing: string
  /** The delivery that this one repeats, if it was resent by hand. */
  readonly resendOf: string | null
  /** Reason of a failure without an attempt. */
  readonly note: string | null
  /** Time of the event; null for an event of the inbox whose time is damaged. */
  readonly at: string | null
  /** Time at which the next attempt is due. */
  readonly nextAt: string | null
  /** Duration of each attempt, in milliseconds. */
  readonly times: readonly number[]
  readonly last: LastResult | null
  /** Id of the record that the event is about. */
  readonly record: string | null
  /** Reason why the last attempt failed. */
  readonly reason: Reason | null
  /** Advice on a failure, or the meaning of an answer. */
  readonly advice: string | null
  /** Place of the event in the inbox of the receiver, as far as it is known. */
  readonly inbox: Standing | null
}

/** The outcome of the last attempt of a delivery. */
export interface LastResult {
  /** The status, or the kind of the failure: `refused`, `timeout`. */
  readonly result: string
  /** The code word, if a receiver of this package answered. */
  readonly code: string | null
  readonly isAcknowledged: boolean
  readonly at: string
}

/** Everything that the page shows at its start. */
export interface RowPage {
  /** Position in the changes: a batch after it has what this does not have. */
  readonly cursor: string
  readonly now: string
  readonly state: EmulatorState
  /** The newest first. */
  readonly rows: readonly Row[]
  /** Number of deliveries that the emulator has. */
  readonly total: number
}

/** Deliveries that a search has found, up to the change of that number. */
export interface Found {
  readonly ids: readonly string[]
  readonly change: number
}

/** A call of the service's API. */
export interface ApiCall {
  readonly id: number
  readonly at: string
  readonly method: string
  readonly path: string
  readonly status: number
  readonly account: string | null
  readonly rateRemaining: number | null
}

/** Everything that happened since the position that the page names. */
export interface Batch extends Omit<RowPage, 'state'> {
  /** True if deliveries were removed, or the emulator was restarted: the page has to load its list again. */
  readonly mustReload: boolean
  /** True if webhooks have changed. */
  readonly isStateNew: boolean
  readonly warnings: readonly string[]
}

/** The digest that code computes if it signs anything but the exact bytes. */
export interface WrongDigest {
  /** Describes the mistake. */
  readonly fact: string
  readonly digest: string
}

/** The signature of a delivery, computed step by step. */
export interface SignatureSteps {
  readonly bytes: number
  readonly bodySha256: string
  /** Undefined if the webhook has been deleted: its secret is gone. */
  readonly secret?: { readonly shown: string; readonly length: number }
  /** Hexadecimal HMAC-SHA256 of the body. */
  readonly digest?: string
  /** Name of the header that is sent. */
  readonly signatureHeader: string
  /** Values of the header as they are sent; empty if the header is left out. */
  readonly sent: readonly string[]
  readonly isRight: boolean
  /** Status with which a receiver that has the secret answers: 400 if the body is no event, 422 if it lacks its record. */
  readonly answer: 200 | 400 | 422
  readonly wrong: readonly WrongDigest[]
}

const time = z.iso.datetime().transform((text) => Date.parse(text))

/** An attempt of a delivery. */
export const attempt = z.object({
  number: z.number(),
  url: z.url(),
  at: time,
  durationMs: z.number(),
  phases: z.custom<object>().optional(),
  status: z.number().optional(),
  failure: z.string().optional(),
  error: z.string().optional(),
  responseBody: z.string(),
})

/** A delivery, with or without its body. */
export const delivery = z.object({
  id: z.string(),
  eventId: z.string(),
  eventType: z.string(),
  status: z.enum(['pending', 'success', 'failed']),
  nextAttemptAt: time.nullable().transform((ms) => ms ?? undefined),
  attempts: z.array(attempt),
})

/** A message of `GET stream`. */
export const streamMessage = z.object({
  type: z.string(),
  delivery: delivery.optional(),
  attempt: attempt.optional(),
})

export const state = z.object({
  clock: z.object({ isManual: z.boolean() }),
  webhooks: z.array(
    z.object({ id: z.string(), accountKey: z.string(), events: z.array(z.string()), active: z.boolean() }),
  ),
  counts: z.object({ pending: z.number() }),
  settings: z.object({ retryScale: z.number(), signatureHeader: z.string() }),
})

/** `POST events`. */
export const emitted = z.object({ events: z.array(z.object({ deliveries: z.array(z.string()) })) })

import * as z from 'zod'

// The control interface: `z.input` of a schema is the JSON that the emulator writes and its page reads, `z.output` is what the command
// line reads. A time is ISO 8601 in every message; the command line computes with milliseconds since 1970. The page imports types only.

const time = z.iso.datetime().transform((text) => Date.parse(text))

/** A time that may be absent. */
const due = time.nullable().transform((ms) => ms ?? undefined)

const attempt = z.object({
  number: z.number(),
  url: z.url(),
  at: time,
  durationMs: z.number(),
  /** Durations of its phases in milliseconds; absent for a phase that it did not reach. */
  phases: z
    .object({ connectMs: z.number().optional(), waitMs: z.number().optional(), bodyMs: z.number().optional() })
    .optional(),
  status: z.number().optional(),
  failure: z.string().optional(),
  error: z.string().optional(),
  responseHeaders: z.record(z.string(), z.string()).readonly(),
  responseBody: z.string(),
  /** Number of bytes after which the body was cut; absent if it is whole. */
  responseCutAt: z.number().optional(),
})

const delivery = z.object({
  id: z.string(),
  accountKey: z.string(),
  webhookId: z.string(),
  eventId: z.string(),
  eventType: z.string(),
  status: z.enum(['pending', 'success', 'failed']),
  isInFlight: z.boolean(),
  /** Kind of signature; any but `valid` was chosen by hand. */
  signing: z.string(),
  /** The delivery that this one repeats, if it was resent by hand. */
  resendOf: z.string().optional(),
  /** Reason of a failure without an attempt. */
  note: z.string().optional(),
  createdAt: time,
  nextAttemptAt: due,
  attempts: z.array(attempt),
})

/** `GET deliveries/ID`: a delivery with its body. */
export const deliveryDetail = delivery.extend({ body: z.object({ base64: z.string(), text: z.string() }) })

/** A message of `GET stream`. */
export const streamMessage = z.discriminatedUnion('type', [
  z.object({ type: z.literal('ready'), bootId: z.string(), now: z.string() }),
  z.object({ type: z.literal('delivery'), delivery }),
  z.object({ type: z.literal('attempt'), delivery, attempt }),
  z.object({ type: z.literal('webhook'), change: z.string(), webhookId: z.string(), accountKey: z.string() }),
  z.object({
    type: z.literal('call'),
    method: z.string(),
    path: z.string(),
    status: z.number(),
    accountKey: z.string().optional(),
    rateRemaining: z.number().optional(),
  }),
  z.object({ type: z.literal('clock'), now: z.string() }),
  z.object({ type: z.literal('reset') }),
  z.object({ type: z.literal('warning'), message: z.string() }),
])

/** `POST faults`, `DELETE faults`: the faults in force. */
const faults = z.object({
  /** Answers that the next calls of the API get. */
  answers: z.array(z.object({ answer: z.string(), count: z.number(), delayMs: z.number() })).readonly(),
  deliveries: z.object({
    fail: z.number(),
    duplicate: z.number(),
    shuffle: z.boolean(),
    latencyMs: z.tuple([z.number(), z.number()]).readonly().optional(),
  }),
})

/** `GET clock`, `POST clock`. */
const clock = z.object({
  isManual: z.boolean(),
  now: z.string(),
  nextDueAt: z.string().nullable(),
  inFlight: z.number(),
  /** Only after `next`. */
  moved: z.boolean().optional(),
})

/** A registration without its secret. */
const webhook = z.object({
  id: z.string(),
  accountKey: z.string(),
  url: z.string(),
  events: z.array(z.string()).readonly(),
  description: z.string().optional(),
  active: z.boolean(),
  createdAt: z.string(),
})

const rateLimit = z.object({ limit: z.number(), windowMs: z.number() })

/** `GET state`, `POST reset`: a summary of the emulator. */
export const state = z.object({
  bootId: z.string(),
  clock,
  accounts: z.array(z.object({ key: z.string(), email: z.string() })).readonly(),
  webhooks: z.array(webhook).readonly(),
  counts: z.object({ records: z.number(), deliveries: z.number(), pending: z.number() }),
  faults,
  settings: z.object({
    retryScale: z.number(),
    deadlineMs: z.number(),
    tokenTtlMs: z.number(),
    rateLimit,
    loginRateLimit: rateLimit,
    format: z.string(),
    dialect: z.string(),
  }),
  assumed: z.record(z.string(), z.string()),
  /** True if the page can show the receiver's inbox. */
  hasInbox: z.boolean(),
  limits: z.record(z.string(), z.number()),
})

/** `POST events`. */
export const emitted = z.object({
  events: z
    .array(z.object({ id: z.string(), type: z.string(), deliveries: z.array(z.string()).readonly() }))
    .readonly(),
})

export type DescribedDelivery = z.input<typeof delivery>
export type AttemptDetail = z.input<typeof attempt>
export type DeliveryDetail = z.input<typeof deliveryDetail>
export type StreamMessage = z.input<typeof streamMessage>
export type ClockShape = z.input<typeof clock>
export type WebhookShape = z.input<typeof webhook>
export type FaultShape = z.input<typeof faults>['deliveries']
export type EmulatorState = z.input<typeof state>

/** A delivery as one line of the list. */
export interface Row {
  readonly id: string
  /** Number in the order of creation, and number of its last change; both in this run of the emulator. */
  readonly made: number
  readonly change: number
  readonly account: string
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
  readonly at: string
  /** Time at which the next attempt is due. */
  readonly nextAt: string | null
  readonly attempts: number
  readonly last: LastResult | null
}

/** The outcome of the last attempt of a delivery. */
export interface LastResult {
  /** The status, or the kind of the failure: `refused`, `timeout`. */
  readonly result: string
  /** The code word, if a receiver of this package answered. */
  readonly code: string | null
  readonly isAcknowledged: boolean
  readonly at: string
  readonly ms: number
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

/** Everything that happened since the previous message, or since the position that the page names. */
export interface Batch {
  /** Position in the stream, with which a later stream begins. */
  readonly cursor: string
  readonly now: string
  /** True if deliveries were removed, or the emulator was restarted: the page has to load its list again. */
  readonly mustReload: boolean
  /** True if webhooks have changed. */
  readonly isStateNew: boolean
  readonly rows: readonly Row[]
  readonly warnings: readonly string[]
  /** Number of deliveries that the emulator has. */
  readonly total: number
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
  /** Values of the header as they are sent; empty if the header is left out. */
  readonly sent: readonly string[]
  readonly isRight: boolean
  readonly wrong: readonly WrongDigest[]
}

/** Messages from the emulator to its page. Types only: both sides import them, and neither imports the other. */

/** The state of a delivery. */
type RowStatus = 'pending' | 'success' | 'failed'

/** A delivery as one line of the list. Times are ISO 8601, as everywhere in these messages but those of an inbox. */
export interface Row {
  readonly id: string
  readonly account: string
  readonly webhook: string
  readonly event: string
  readonly type: string
  readonly status: RowStatus
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

/** A page of the list, newest first. */
export interface RowPage {
  readonly bootId: string
  readonly now: string
  readonly rows: readonly Row[]
  /** Number of deliveries that the emulator has. */
  readonly total: number
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

/** Something that happened other than a change of a delivery. */
export type Notice =
  | { readonly type: 'webhook'; readonly change: string; readonly webhookId: string }
  | { readonly type: 'call'; readonly call: ApiCall }
  | { readonly type: 'clock' | 'reset' }
  | { readonly type: 'warning'; readonly message: string }

/** Everything that happened since the previous message. Notices come first: deliveries made after a reset are in `rows`. */
export interface Batch {
  readonly now: string
  readonly notices: readonly Notice[]
  readonly rows: readonly Row[]
}

/** One attempt with its complete answer. */
export interface AttemptDetail {
  readonly number: number
  readonly url: string
  readonly at: string
  readonly durationMs: number
  /** Durations of its phases in milliseconds; absent for a phase that it did not reach. */
  readonly phases?: { readonly connectMs?: number; readonly waitMs?: number; readonly bodyMs?: number }
  readonly status?: number
  readonly failure?: string
  readonly error?: string
  readonly responseHeaders: Readonly<Record<string, string>>
  readonly responseBody: string
}

/** A delivery with its body and its attempts. */
export interface DeliveryDetail {
  readonly id: string
  readonly accountKey: string
  readonly webhookId: string
  readonly eventId: string
  readonly eventType: string
  readonly status: RowStatus
  readonly signing: string
  readonly resendOf?: string
  readonly note?: string
  readonly createdAt: string
  readonly nextAttemptAt: string | null
  readonly attempts: readonly AttemptDetail[]
  readonly body: { readonly base64: string; readonly text: string }
}

/** The digest that code computes if it signs anything but the exact bytes. */
export interface WrongDigest {
  readonly what: string
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

/** A registration without its secret. */
export interface WebhookShape {
  readonly id: string
  readonly accountKey: string
  readonly url: string
  readonly events: readonly string[]
  readonly description?: string
  readonly active: boolean
  readonly createdAt: string
}

/** Faults of deliveries. */
export interface FaultShape {
  readonly fail: number
  readonly duplicate: number
  readonly shuffle: boolean
  readonly latencyMs?: readonly [number, number]
}

/** A summary of the emulator. */
export interface EmulatorState {
  readonly bootId: string
  readonly clock: {
    readonly isManual: boolean
    readonly now: string
    readonly nextDueAt: string | null
    readonly inFlight: number
  }
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
    readonly format: string
    readonly dialect: string
  }
  readonly assumed: Readonly<Record<string, string>>
  /** True if the page can show the receiver's inbox. */
  readonly hasInbox: boolean
}

/** One assumption with its current value. */
export interface AssumptionShape {
  readonly id: string
  readonly name: string
  readonly subject: string
  readonly value: string
  readonly meaning: string
  readonly isDefault: boolean
}

/** Number of records of a model. */
export interface ModelCount {
  readonly accountKey: string
  readonly model: string
  readonly count: number
}

/** The state of an accepted event. */
export type InboxStateName = 'waiting' | 'running' | 'dead'

/** Numbers of events in an inbox, by state. */
export interface InboxCountsShape {
  readonly waiting: number
  readonly running: number
  readonly dead: number
  /** Due time of the event that has waited longest; null if none is due. */
  readonly oldestDueAt: number | null
  /** Limit of each count. A count of this number means as many or more. */
  readonly countedTo: number
  /** True if events may be replayed and dropped. */
  readonly isWritable: boolean
}

/** An accepted event as one line of the list. Times are in milliseconds since 1970, by the clock of the receiver's machine. */
export interface InboxRow {
  readonly key: string
  readonly state: InboxStateName
  readonly type: string
  readonly event: string
  readonly account: string
  readonly receivedAt: number
  /** Time at which it is due; for a dead letter, time at which it became one. */
  readonly dueAt: number
  readonly failures: number
  /** The outcome of the last try. */
  readonly last: { readonly code: string; readonly error: string | null } | null
}

/** A page of the list, oldest first. */
export interface InboxRowPage {
  readonly rows: readonly InboxRow[]
  /** Position of the next page; null on the last one. */
  readonly next: string | null
}

/** An accepted event with all of its tries, but without its body. */
export interface InboxDetail extends InboxRow {
  readonly since: number
  readonly deaths: number
  /** Handlers that had finished when it became a dead letter. */
  readonly marks: readonly string[]
  /** Tries of the workers. */
  readonly tries: readonly {
    readonly n: number
    readonly startedAt: number
    readonly endedAt: number
    readonly code: string
    readonly error?: string
    readonly worker: string
  }[]
  readonly source: string | null
  readonly trace: string | null
}

/** The entry of a delivered event in the inbox. */
export interface InboxOfEvent {
  readonly item: InboxDetail | null
  /** True if the names of all receivers are known. If they are not, the inbox may hold an event that was not found. */
  readonly isSure: boolean
}

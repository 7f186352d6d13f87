/** Shapes of what the emulator tells its page. Types only: both sides import them, and neither the other. */

/** The state of a delivery. */
type RowStatus = 'pending' | 'success' | 'failed'

/** A delivery as one line of the list. Times are in milliseconds since 1970. */
export interface Row {
  readonly id: string
  readonly account: string
  readonly webhook: string
  readonly event: string
  readonly type: string
  readonly status: RowStatus
  /** Kind of signature; anything but `valid` was asked for by hand. */
  readonly signing: string
  /** The delivery that this one repeats, if it was resent by hand. */
  readonly resendOf: string | null
  /** Reason of a failure without an attempt. */
  readonly note: string | null
  readonly at: number
  /** When the next attempt is due. */
  readonly nextAt: number | null
  readonly attempts: number
  readonly last: LastResult | null
}

/** The outcome of the last attempt of a delivery. */
export interface LastResult {
  /** The status, or the kind of the failure: `refused`, `timeout`. */
  readonly result: string
  /** The code word of a receiver of this package. */
  readonly code: string | null
  readonly isAcknowledged: boolean
  readonly at: number
  readonly ms: number
}

/** A stretch of the list, the newest first. */
export interface RowPage {
  readonly bootId: string
  readonly now: number
  readonly rows: readonly Row[]
  /** Number of deliveries that the emulator has. */
  readonly total: number
}

/** A call of the service's API. */
export interface ApiCall {
  readonly id: number
  readonly at: number
  readonly method: string
  readonly path: string
  readonly status: number
  readonly account: string | null
  readonly rateRemaining: number | null
}

/** Something besides a delivery that happened. */
export type Notice =
  | { readonly type: 'webhook'; readonly change: string; readonly webhookId: string }
  | { readonly type: 'call'; readonly call: ApiCall }
  | { readonly type: 'clock'; readonly now: number }
  | { readonly type: 'reset' }
  | { readonly type: 'warning'; readonly message: string }

/** Everything that happened since the message before. Notices come first: what follows a reset is in `rows`. */
export interface Batch {
  readonly now: number
  readonly notices: readonly Notice[]
  readonly rows: readonly Row[]
}

/** Times of an attempt, in milliseconds; absent for a phase that it did not reach. */
interface Phases {
  readonly connectMs?: number
  readonly waitMs?: number
  readonly bodyMs?: number
}

/** One attempt with all of its answer. */
export interface AttemptDetail {
  readonly number: number
  readonly url: string
  /** ISO 8601. */
  readonly at: string
  readonly durationMs: number
  readonly phases?: Phases
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
  /** ISO 8601. */
  readonly createdAt: string
  readonly nextAttemptAt: string | null
  readonly attempts: readonly AttemptDetail[]
  readonly body: { readonly base64: string; readonly text: string }
}

/** A digest that code computes which signs something else than the exact bytes. */
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
  /** Values of the header as they are sent; none if it is left out. */
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

/** The clock of the emulator. Times are ISO 8601. */
interface ClockShape {
  readonly isManual: boolean
  readonly now: string
  readonly nextDueAt: string | null
  readonly inFlight: number
}

/** Faults of deliveries. */
export interface FaultShape {
  readonly fail: number
  readonly duplicate: number
  readonly shuffle: boolean
  readonly latencyMs?: readonly [number, number]
}

/** An answer that the next calls of the API get. */
interface AnswerFaultShape {
  readonly answer: string
  readonly count: number
  readonly delayMs: number
}

/** The emulator at a glance. */
export interface EmulatorState {
  readonly bootId: string
  readonly clock: ClockShape
  readonly accounts: readonly { readonly key: string; readonly email: string }[]
  readonly webhooks: readonly WebhookShape[]
  readonly counts: { readonly records: number; readonly deliveries: number; readonly pending: number }
  readonly faults: { readonly answers: readonly AnswerFaultShape[]; readonly deliveries: FaultShape }
  readonly settings: {
    readonly retryScale: number
    readonly deadlineMs: number
    readonly format: string
    readonly dialect: string
  }
  readonly assumed: Readonly<Record<string, string>>
  /** Whether the inbox of the receiver can be looked at. */
  readonly hasInbox: boolean
}

/** One assumption with the value in force. */
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

/** How many events an inbox holds. */
export interface InboxCountsShape {
  readonly waiting: number
  readonly running: number
  readonly dead: number
  /** Since when the one that has waited longest could have run. */
  readonly oldestDueAt: number | null
  /** This number stands for as many or more. */
  readonly countedTo: number
  /** Whether events may be replayed and dropped. */
  readonly isWritable: boolean
}

/** An accepted event as one line of the list. Times are in milliseconds since 1970, by the receiver's machine. */
export interface InboxRow {
  readonly key: string
  readonly state: InboxStateName
  readonly type: string
  readonly event: string
  readonly account: string
  readonly receivedAt: number
  /** When it is to run; for a dead letter, when it became one. */
  readonly dueAt: number
  readonly failures: number
  readonly last: LastTry | null
}

/** The end of the last try. */
interface LastTry {
  readonly code: string
  readonly error: string | null
}

/** A stretch of the list, the oldest first. */
export interface InboxRowPage {
  readonly rows: readonly InboxRow[]
  /** Leads to the next stretch; null at the end. */
  readonly next: string | null
}

/** One try of a worker. */
interface InboxTryShape {
  readonly n: number
  readonly startedAt: number
  readonly endedAt: number
  readonly code: string
  readonly error?: string
  readonly worker: string
}

/** An accepted event with all of its tries, and without its body. */
export interface InboxDetail extends InboxRow {
  readonly since: number
  readonly deaths: number
  /** Handlers that had finished when it became a dead letter. */
  readonly marks: readonly string[]
  readonly tries: readonly InboxTryShape[]
  readonly source: string | null
  readonly trace: string | null
}

/** What the inbox holds of a delivered event. */
export interface InboxOfEvent {
  readonly item: InboxDetail | null
  /** Whether the names of all receivers are known. If they are not, an event that was not found may be there. */
  readonly isSure: boolean
}

import type { Secret } from '../../src/protocol/signature.ts'
import type { ConnectionFailure } from '../wire/connection-failure.ts'
import type { Probe } from './probe.ts'

/** Groups of checks, in the order in which they run. */
export const GROUPS = ['reach', 'signature', 'bytes', 'meaning', 'time', 'leak', 'effect', 'load'] as const

/** Group of checks. */
export type Group = (typeof GROUPS)[number]

/** Worst status that a check can have. */
export type Level = 'fail' | 'warn' | 'info'

/** Status of a check. `skipped` means not requested or not observable; it is never a pass. */
export type Status = 'pass' | Level | 'skipped'

/** Code of a result that does not follow from the answers alone, and its words in the reason. */
export const CAUSES = {
  not_asked: 'not asked for',
  interrupted: 'interrupted',
  unreachable: 'nothing answers there',
  absent: 'no receiver answers there',
  hangs: 'the receiver answers nothing in time any more',
  plain_refused: 'a plain delivery is not accepted',
  shut: 'plain deliveries are no longer accepted',
  no_probe: 'not observable without a probe',
  probe_failed: 'could not be judged',
  not_accepted: 'the event was not accepted',
  not_judged: 'the second delivery was not judged',
  not_counted: 'the probe counts no such work',
  too_slow: 'not judged, since the receiver is too slow for a burst',
  behind: 'the receiver had not done its latest work after several seconds',
  not_done: 'acknowledged, and the work was not done',
} as const

/** Code of a result that does not follow from the answers alone. */
export type Cause = keyof typeof CAUSES

/** Facts that a check has found. The reason of its result is written from them in the end, and never read. */
export interface Verdict {
  readonly status: Status
  /** Answers that the status follows from, in the order of the deliveries. */
  readonly answers: readonly Answer[]
  readonly cause?: Cause
  readonly runs?: number
  /** True if some duplicates of one event were recognized, and others were not. */
  readonly isPartly?: boolean
  /** Words that end the reason. */
  readonly note?: string
}

/** Text on the page of a check. All of it is plain text for people. */
interface CaseText {
  readonly id: string
  /** Default `fail`. */
  readonly level?: Level
  readonly sends: string
  readonly expects: string
  readonly why: string
  readonly fix: string
  /** Advice for a failure with such a number of runs, instead of `fix`. */
  readonly fixFor?: (runs: number) => string
  /** Set if no other check may run at the same time. */
  readonly alone?: true
}

export interface SingleCase extends CaseText {
  readonly deliver: (make: Maker) => TestDelivery
  readonly judge: (answer: Answer) => Verdict
}

interface SeriesCase extends CaseText {
  readonly run: (scene: Scene) => Promise<Verdict>
}

export type Case = SingleCase | SeriesCase

export interface TestEvent {
  readonly id: string
  readonly type: string
  readonly timestamp: string
  readonly accountKey: string
  readonly data: unknown
}

export interface TestRecord {
  readonly _id: string
  readonly [field: string]: unknown
}

/** Factory of the events and deliveries of one run, shared by all its checks. */
export interface Maker {
  readonly accountKey: string
  /** Name of the signature header that the receiver reads. */
  readonly signatureHeader: string
  /** Type of plain events. */
  readonly plainType: string
  /** Model of the records: that of the plain type, or `contact`. */
  readonly model: string
  /** Returns true for an id that no other run uses: a receiver may know the others from an earlier run. */
  isOfRun(id: unknown): boolean
  /** Makes an event with an id that no other run uses: a plain one, or one of the type in the changes, with data of that type. */
  event(changes?: Readonly<Record<string, unknown>>): TestEvent
  /** Makes a contact with the documented fields, and an id and an address that no other record has. */
  contact(changes?: Readonly<Record<string, unknown>>): TestRecord
  /** Makes a delivery as the service sends it, except for the changes. */
  delivery(body: TestEvent | string | Uint8Array, changes?: DeliveryChanges): TestDelivery
}

/** Differences from a genuine delivery. */
export interface DeliveryChanges extends Partial<Omit<TestDelivery, 'body' | 'signatures' | 'isSigned' | 'event'>> {
  /** Computes the signature header from the right signature, or from the body and the secret: one value, several, or none. */
  readonly signature?: (right: string, body: Uint8Array, secret: Secret) => string | readonly string[] | undefined
  /** Bytes to send instead of the signed body. */
  readonly bytes?: Uint8Array
}

/** HTTP request of one delivery, exactly as it is sent. */
export interface TestDelivery {
  readonly method: 'POST' | 'GET' | 'PUT' | 'PATCH' | 'DELETE'
  readonly body: Uint8Array
  readonly signatureName: string
  /** Signatures, each sent in a separate header line. */
  readonly signatures: readonly string[]
  readonly contentType: string
  readonly contentEncoding?: string
  /** Parts in which the body is sent, each once the one before it has left; the connection is cut if the iterable throws. */
  readonly toParts?: (body: Uint8Array) => AsyncIterable<Uint8Array>
  readonly isChunked: boolean
  /** Event of a genuine delivery: a 2xx promises its work. */
  readonly event: TestEvent | undefined
  /** True if it has the right signature of its body. */
  readonly isSigned: boolean
}

/** Answer to a delivery, or the reason why none came. */
export interface Answer {
  readonly status: number | undefined
  readonly failure?: string | undefined
  readonly failureKind?: ConnectionFailure['kind'] | 'timeout'
  /** True if nothing listens at the target, or it does not speak TLS. */
  readonly isUnreachable: boolean
  /** Reason phrase after the status. */
  readonly words: string
  /** Headers by name in lower case. Checks search them, and no report shows them. */
  readonly headers: Readonly<Record<string, string>>
  /** First 64 KiB of the body, as far as they arrive in time. Checks search them, and no report shows them. */
  readonly body: Promise<string>
  /** Becomes false if the body did not end in time, within 64 KiB, or by itself. */
  readonly isWhole: Promise<boolean>
  readonly ms: number
  readonly event?: TestEvent | undefined
}

/** Tools of a check that sends several deliveries. */
export interface Scene {
  readonly make: Maker
  readonly target: URL
  readonly secret: Uint8Array
  /** Time for which a receiver may put a delivery off, and time for the work of an acknowledged event. */
  readonly patienceMs: number
  readonly probe: Probe | undefined
  /** Acknowledged plain events by id, the oldest first. */
  readonly acknowledged: ReadonlyMap<string, AcknowledgedEvent>
  /** Sends a delivery, and retries as long as the answer is a 429 or 503 with `Retry-After`. */
  send(delivery: TestDelivery): Promise<Answer>
  sendOnce(delivery: TestDelivery): Promise<Answer>
  /** Sends deliveries one after the other over one connection; opens another if the receiver closed it. */
  sendInTurn(deliveries: readonly TestDelivery[]): Promise<readonly Answer[]>
  /** Returns the number of deliveries that the receiver answers in time if they come concurrently, by its speed so far. */
  countRoom(): number
  /** Finds out whose work the probe counts, once in a run. */
  counting(): Counting
  wait(ms: number): Promise<void>
  /** Lets the next checks begin: from now on, this one only waits for work, and sends what depends on it. */
  endTurn(): void
}

/** Event that was acknowledged, and when its work was first seen to be done, by `performance.now()`. */
export interface AcknowledgedEvent {
  readonly event: TestEvent
  readonly at: number
  doneAt: number | undefined
}

/** Result of sending events of each type, part by part. */
export interface Counting {
  /** Settles once all of these events are answered. */
  readonly sent: Promise<unknown>
  /** Types whose work the probe counts, the plain type first. */
  readonly types: Promise<readonly string[]>
  /** Counted types of which acknowledged events were not worked on. */
  readonly losses: Promise<readonly Loss[]>
}

export interface Loss {
  readonly type: string
  readonly lost: number
  readonly total: number
}

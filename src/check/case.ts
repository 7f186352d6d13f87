import type { Answer, Delivery } from './exchange.ts'
import type { Probe } from './probe.ts'

/** What the checks are about, in the order in which they run. */
export const GROUPS = ['reach', 'signature', 'bytes', 'meaning', 'time', 'leak', 'effect', 'load'] as const

/** A part of the checks. */
export type Group = (typeof GROUPS)[number]

/** The worst that a check can come to. */
export type Level = 'fail' | 'warn' | 'info'

/** What a check came to. `skipped` is what was not asked for or can't be seen; it is never a pass. */
export type Status = 'pass' | Level | 'skipped'

export interface Verdict {
  readonly status: Status
  /** What came back, in one line. */
  readonly reason: string
}

/** What the page of a check says. All of it is plain text for people. */
interface CaseText {
  readonly id: string
  readonly level: Level
  /** What is sent. */
  readonly sends: string
  /** What has to come back. */
  readonly expects: string
  /** Why it matters. */
  readonly why: string
  /** What is mostly wrong where it does not. */
  readonly fix: string
  /** Nothing else is sent meanwhile. */
  readonly alone?: true
}

/** One delivery, and what its answer has to be. */
export interface SingleCase extends CaseText {
  readonly deliver: (make: Maker) => Delivery
  readonly judge: (answer: Answer) => Verdict
}

/** Several deliveries, or one that is seen through the probe. */
interface SeriesCase extends CaseText {
  readonly run: (scene: Scene) => Promise<Verdict>
}

export type Case = SingleCase | SeriesCase

/** The envelope of a test event. */
export interface TestEvent {
  readonly id: string
  readonly type: string
  readonly timestamp: string
  readonly accountKey: string
  readonly data: unknown
}

/** A record of a test event. */
export interface TestRecord {
  readonly _id: string
  readonly [field: string]: unknown
}

/** What all checks of one run have in common. */
export interface Maker {
  /** A new event with an id that no other run used. */
  event(changes?: Readonly<Record<string, unknown>>): TestEvent
  /** A documented contact, with an id and an address that no other record has. */
  contact(changes?: Readonly<Record<string, unknown>>): TestRecord
  /** A delivery as the service sends it, but for what is changed. */
  delivery(body: TestEvent | string | Uint8Array, changes?: DeliveryChanges): Delivery
}

/** The one thing that differs from a good delivery. */
export interface DeliveryChanges {
  /** The signature header by the right signature, or by a digest of another algorithm: one value, several, or none. */
  readonly signature?: (right: string, hmac: (algorithm: string) => string) => string | readonly string[] | undefined
  /** The name of its header, in place of the documented one. */
  readonly signatureName?: string
  /** The same for a shell: what the right signature is piped through. */
  readonly pipe?: string
  /** What is sent in place of the body that was signed. */
  readonly bytes?: Uint8Array
  readonly contentType?: string
  readonly contentEncoding?: 'gzip'
  /** The body leaves in pieces of so many bytes. */
  readonly pieceSize?: number
  /** Without a declared length, in chunked encoding. */
  readonly isChunked?: true
  readonly method?: 'GET'
}

/** What a series of deliveries has at hand. */
export interface Scene {
  readonly make: Maker
  readonly target: URL
  /** What no answer may hold. */
  readonly secret: Uint8Array
  /** How long a receiver may put a delivery off, and how long what it acknowledged may take until it is done. */
  readonly patienceMs: number
  readonly probe: Probe | undefined
  /** Sends a delivery, and sends it again as long as the answer is a 429 or 503 that says when to. */
  send(delivery: Delivery): Promise<Answer>
  /** Sends a delivery one time. */
  sendOnce(delivery: Delivery): Promise<Answer>
  /** Sends deliveries one after the other by one connection, or by another where the receiver ended it. */
  sendInTurn(deliveries: readonly Delivery[]): Promise<readonly Answer[]>
  /** Waits for so long. Rejects when the run is interrupted. */
  wait(ms: number): Promise<void>
}

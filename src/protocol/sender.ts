import type { KeyObject } from 'node:crypto'
import type { OpenData } from './events.ts'

/** Headers of a request by lower-case name. Each occurred once; all but the signature are printable ASCII without blanks and commas. */
export type SenderHeaders = Readonly<Record<string, string | undefined>>

/** The signature of a request, as its head presents it. The receiver computes and compares digests; a sender cannot choose an algorithm. */
export type SignedHead = {
  /** Digests that the request presents, 32 bytes each, at most 8. One must be the HMAC-SHA256 of `before`, the body and `after`. */
  readonly digests: readonly Uint8Array[]
  /** Text that is signed in front of the body. */
  readonly before?: string | undefined
  /** Text that is signed behind the body. */
  readonly after?: string | undefined
  /** When the attempt was signed, in milliseconds since 1970. Only if that time is part of `before` or `after`; the sender needs a `toleranceMs`. */
  readonly signedAt?: number | undefined
}

/** The names of an event, by which the receiver routes and deduplicates. */
export type EventNames = {
  /** Repeated by each attempt, and unique in the account. At most 1,024 characters. */
  readonly id: string
  /** At most 256 characters. */
  readonly type: string
  /** The tenant; a constant if the sender has none. At most 256 characters. */
  readonly accountKey: string
  /** ISO 8601. */
  readonly timestamp: string
}

/** Facts for `nameEvent` besides the body and the headers. */
export type EventFacts = {
  /** The `signedAt` of the head. */
  readonly signedAt: number | undefined
  /** When the request was received, in milliseconds since 1970. */
  readonly receivedAt: number
  /** Returns the SHA-256 of the exact bytes of the body, in hexadecimal. */
  digest(): string
}

/** The types of a sender whose types are not declared: any type, with an object. */
export type OpenTypes = { readonly [type: string]: OpenData }

/**
 * A sender of webhooks: its signature, and the names of its events. It only translates: the receiver computes HMAC-SHA256, compares in constant time and judges the
 * signed time. The `data` of an event is the whole JSON object of its body.
 *
 * @see docs/guides/own-sender.md
 */
export type Sender<Types = OpenTypes> = {
  /** For messages, such as `GitHub`. */
  readonly name: string
  /** The headers of each delivery, in lower case, that of the signature first. A request that lacks one is refused before its body is read. */
  readonly headers: readonly [string, ...string[]]
  /** Headers that are read if they are there. */
  readonly optionalHeaders?: readonly string[] | undefined
  /** Reads the signature, before the body is read. Returns undefined if it is malformed. */
  readHead(headers: SenderHeaders): SignedHead | undefined
  /** Names the event of a verified body. Returns undefined if the body is no event. */
  nameEvent(body: OpenData, headers: SenderHeaders, facts: EventFacts): EventNames | undefined
  /** The names that are not signed: a recorded delivery can be repeated under any of them. */
  readonly unsigned: readonly (keyof EventNames)[]
  /**
   * Returns how the sender spells a type, or the beginning of types with a star: `issues.opened` for `Issues/opened`. A pattern in another
   * spelling can never match, and is refused. Default: each spelling is possible.
   */
  spellType?(type: string): string
  /** Returns the key of a secret that is text, and throws if it cannot be one. Default: its UTF-8. Secrets in bytes are keys themselves. */
  toKey?(secret: string): Uint8Array
  /** Most milliseconds between the signed time and the time of receipt. */
  readonly toleranceMs?: number | undefined
  /** Milliseconds for which the sender waits for an answer. */
  readonly waitsMs: number
  /** Number of attempts that the sender makes by itself. With 1, an event that fails is lost unless the receiver has an inbox. */
  readonly attempts: number
  /** Milliseconds after an event for which the sender may repeat it, by itself or on demand. A store must keep events for as long. */
  readonly duplicatesForMs: number
  /** Default of the receiver's `maxBodyBytes`. */
  readonly maxBodyBytes?: number | undefined
  /** Signs a delivery, for tests. Returns its headers. */
  sign(
    body: Uint8Array,
    key: KeyObject,
    names: Partial<EventNames> & { readonly at: number },
  ): Readonly<Record<string, string>>
  /** Never set: it carries the types of events. A list, since those of a plain optional field may be inferred as undefined. */
  readonly types?: readonly [Types] | undefined
}

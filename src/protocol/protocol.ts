import type { KeyObject } from 'node:crypto'
import { type Envelope, parseEnvelope } from './envelope.ts'
import { type RequestHead, SignatureHeader } from './head.ts'
import type { Rejection } from './outcome.ts'
import type { Sender } from './sender.ts'
import { type HeaderValue, importSecret, matchesKey, onlyValue, SECRET_HINT } from './signature.ts'

/** The headers of a delivery whose bytes are in hand: `signature` for the CRM service, `headers` for another sender. */
export type GivenHead = {
  readonly signature?: HeaderValue
  readonly headers?: Headers | Readonly<Record<string, HeaderValue>> | undefined
}

/** Stops 1, 4 and 5 of one sender. `Head` is the result of stop 1, which stops 4 and 5 need. */
export interface Protocol<Head = unknown> {
  /** Undefined for the CRM service, whose event types are about records. */
  readonly sender: Sender<unknown> | undefined
  /** Says which secret the app needs. */
  readonly secretHint: string
  /** @throws ConfigurationError `secret_unusable` */
  importSecret(secret: unknown): KeyObject
  /** Stop 1: reads the signature before the body is read. */
  readHead(request: Pick<RequestHead, 'header'>, receivedAt: number): Head | Rejection
  /** Stop 1 for bytes in hand; undefined if the app did not pass the headers. */
  readGiven(given: GivenHead, receivedAt: number): Head | Rejection | undefined
  /** Stop 4: compares in constant time. */
  matches(body: Uint8Array, head: Head, key: KeyObject): boolean
  /** Stop 5, once a key has matched. */
  parse(body: Uint8Array, head: Head): Envelope | Rejection
  /** Returns the signed text of an envelope. */
  toSigned(envelope: string): string
}

/** The protocol of the CRM service: its envelope is the body, and the signature is all that its head says. */
export function serviceProtocol(signatureHeader: string): Protocol {
  const header = new SignatureHeader(signatureHeader)
  const read = (value: HeaderValue) => header.check(value) ?? onlyValue(value) ?? ''
  const service: Protocol<string> = {
    sender: undefined,
    secretHint: SECRET_HINT,
    importSecret,
    readHead: (request) => read(request.header(header.key)),
    readGiven: ({ signature }) => read(signature),
    matches: matchesKey,
    parse: parseEnvelope,
    toSigned: (envelope) => envelope,
  }
  return service as Protocol
}

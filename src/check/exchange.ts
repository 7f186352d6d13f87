import type { ConnectionFailure } from '../wire/connection-failure.ts'

/** One HTTP request, as it is to stand on the wire. */
export interface Delivery {
  readonly method: 'POST' | 'GET'
  readonly body: Uint8Array
  /** The name of the header of the signature. */
  readonly signatureName: string
  /** Each is a header line of its own. */
  readonly signatures: readonly string[]
  readonly contentType: string
  readonly contentEncoding: string | undefined
  readonly pieceSize: number | undefined
  readonly isChunked: boolean
  /** What makes the signature in a shell: a pipe behind `postern sign`, or nothing where it can't be told so. */
  readonly pipe: string | undefined
}

/** What came back, or why nothing did. */
export interface Answer {
  /** Undefined where there was no answer. */
  readonly status: number | undefined
  /** In words, where there was no answer. */
  readonly failure: string | undefined
  /** The kind of it, as a word. */
  readonly failureKind: ConnectionFailure['kind'] | 'timeout' | undefined
  /** Nothing listens there, or not by TLS. */
  readonly isUnreachable: boolean
  /** The words behind the status. */
  readonly words: string
  /** By their names in lower case. They are searched, and never shown. */
  readonly headers: Readonly<Record<string, string>>
  /** The first 64 KiB. They are searched, and never shown. */
  readonly body: string
  readonly ms: number
}

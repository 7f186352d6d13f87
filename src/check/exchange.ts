import type { ConnectionFailure } from '../wire/connection-failure.ts'

/** HTTP request of one delivery, exactly as it is sent. */
export interface Delivery {
  readonly method: 'POST' | 'GET'
  readonly body: Uint8Array
  /** Name of the signature header. */
  readonly signatureName: string
  /** Signatures, each sent in a separate header line. */
  readonly signatures: readonly string[]
  readonly contentType: string
  readonly contentEncoding: string | undefined
  readonly pieceSize: number | undefined
  readonly isChunked: boolean
  /** Shell pipe that makes the signature from the output of `postern sign`; undefined if no pipe can make it. */
  readonly pipe: string | undefined
}

/** Answer to a delivery, or the reason why none came. */
export interface Answer {
  /** HTTP status; undefined if there was no answer. */
  readonly status: number | undefined
  /** Describes the failure if there was no answer. */
  readonly failure: string | undefined
  /** Kind of the failure as one word. */
  readonly failureKind: ConnectionFailure['kind'] | 'timeout' | undefined
  /** True if nothing listens at the target, or it does not speak TLS. */
  readonly isUnreachable: boolean
  /** Reason phrase after the status. */
  readonly words: string
  /** Headers by name in lower case. Checks search them, and no report shows them. */
  readonly headers: Readonly<Record<string, string>>
  /** First 64 KiB of the body. Checks search them, and no report shows them. */
  readonly body: string
  readonly ms: number
}

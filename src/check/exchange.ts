/** One HTTP request, as it is to stand on the wire. */
export interface Delivery {
  readonly method: 'POST' | 'GET'
  readonly body: Uint8Array
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
  /** Nothing listens there. */
  readonly isUnreachable: boolean
  /** The status line's text and the headers. They are searched, and never shown. */
  readonly head: string
  /** Undefined where the answer does not say how long to wait before the next attempt. */
  readonly retryAfterMs: number | undefined
  /** The first 64 KiB. They are searched, and never shown. */
  readonly body: string
  readonly ms: number
}

/** Reason for a missing answer, as a word and as a sentence. */
export interface ConnectionFailure {
  readonly kind: 'refused' | 'reset' | 'dns' | 'tls'
  readonly text: string
}

/** Error of a connection that ended during the TLS handshake, with the message and the code of its cause. */
export class HandshakeFailure extends Error {
  readonly code: string | undefined

  constructor(cause: NodeJS.ErrnoException) {
    super(cause.message, { cause })
    this.code = cause.code
  }
}

/** Text for a port that nothing listens on. */
const GONE = 'the connection was refused'

const UNREACHABLE = ['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT', 'EADDRNOTAVAIL', 'EHOSTDOWN']

/** Classifies an error of a connection. */
export function toConnectionFailure(error: NodeJS.ErrnoException): ConnectionFailure {
  const [first] = Object(error).errors ?? [] // of an AggregateError
  if (first !== undefined) return toConnectionFailure(first)
  if (error instanceof HandshakeFailure) return { kind: 'tls', text: isCut(error) ? CUT_IN_HANDSHAKE : toText(error) }
  return { kind: toKind(error), text: toText(error) }
}

const CUT_IN_HANDSHAKE = 'the connection ended before TLS was agreed on'

function toKind({ code = '', syscall }: NodeJS.ErrnoException): ConnectionFailure['kind'] {
  if (UNREACHABLE.includes(code)) return 'refused'
  if (syscall === 'getaddrinfo') return 'dns'
  return /^ERR_(TLS|SSL)|CERT|^EPROTO$|ISSUER|LEAF_SIGNATURE|^CRL_/.test(code) ? 'tls' : 'reset'
}

function isCut({ code }: NodeJS.ErrnoException): boolean {
  return code === 'ECONNRESET' || code === 'EPIPE'
}

function toText(error: NodeJS.ErrnoException): string {
  const { code = '', message } = error
  if (code === 'ECONNREFUSED') return GONE
  if (isCut(error)) return 'the connection ended without an answer'
  // OpenSSL writes its state and a path around the reason, on two lines.
  const reason = /:SSL routines:[^:]*:([^:]+)/.exec(message)?.[1]
  if (reason !== undefined) return `TLS failed: ${reason}`
  return message === '' ? code : message
}

/** The reason why there is no answer, as a word and in words. */
export interface ConnectionFailure {
  readonly kind: 'refused' | 'reset' | 'dns' | 'tls'
  readonly text: string
}

/** The words for a connection that nothing listens to. */
export const GONE = 'the connection was refused'

const UNREACHABLE = ['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT', 'EADDRNOTAVAIL', 'EHOSTDOWN']

/** Returns which of the usual failures an error of a connection is. */
export function toConnectionFailure(error: NodeJS.ErrnoException): ConnectionFailure {
  if (error instanceof AggregateError && error.errors.length > 0) return toConnectionFailure(error.errors[0])
  return { kind: toKind(error), text: toText(error) }
}

function toKind({ code = '', syscall }: NodeJS.ErrnoException): ConnectionFailure['kind'] {
  if (UNREACHABLE.includes(code)) return 'refused'
  if (syscall === 'getaddrinfo') return 'dns'
  return /^ERR_(TLS|SSL)|CERT|^EPROTO$|ISSUER|LEAF_SIGNATURE|^CRL_/.test(code) ? 'tls' : 'reset'
}

function toText({ code = '', message }: NodeJS.ErrnoException): string {
  if (code === 'ECONNREFUSED') return GONE
  if (code === 'ECONNRESET' || code === 'EPIPE') return 'the connection ended without an answer'
  // OpenSSL writes its state and a path around the reason, on two lines.
  const reason = /:SSL routines:[^:]*:([^:]+)/.exec(message)?.[1]
  if (reason !== undefined) return `TLS failed: ${reason}`
  return message === '' ? code : message
}

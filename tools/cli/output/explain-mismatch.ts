import { isWellFormed, verify } from '../../../src/protocol/signature.ts'
import { SIGNATURE_MISTAKES, type SignatureMistakeCode } from '../../wire/signature-mistakes.ts'

export interface Mismatch {
  readonly code: FindingCode
  readonly text: string
}

const TEXTS = {
  header_missing:
    'The header is empty: the delivery was not signed, or the header got lost on the way or has another name (--signature-header).',
  header_blanks: 'The header has blanks around it; HTTP ignores them.',
  header_quotes: 'The header is in quotes, which belong to the shell or the log that it was taken from.',
  sha1: 'The header holds an HMAC-SHA1; the service signs with HMAC-SHA256.',
  not_hex: 'The header is not made of hexadecimal digits behind "sha256=".',
  wrong_length: 'The header does not have 64 digits behind "sha256=": it was cut, or something was added.',
  secret_blanks: 'The secret has blanks or a line break around it: trim it.',
  decoded:
    'The body contains U+FFFD, the replacement for an invalid byte: it was probably decoded to text before it came here.',
  empty_body: 'The body is empty: what should have written it, to standard input or to its file, wrote nothing.',
  no_match:
    'It matches neither this body nor one of the usual rewritings of it: the secret is another one (each registration has its own), or the body is.',
} as const

type FindingCode = keyof typeof TEXTS | SignatureMistakeCode

/** Finds out why a signature is wrong, by trying the usual mistakes. Returns none if it is right. No text contains a secret or a digest. */
export function explainMismatch(body: Uint8Array, header: string, secret: string): readonly Mismatch[] {
  const codes: FindingCode[] = []
  const signature = repairHeader(header, codes)
  const trimmed = secret.trim()
  if (trimmed !== secret) codes.push('secret_blanks')
  if (signature !== undefined && trimmed !== '') {
    const isRight = verify(body, signature, trimmed)
    const mistake = isRight ? undefined : findMistake(body, signature, trimmed)
    if (!isRight && mistake === undefined && Buffer.from(body).includes('\ufffd')) codes.push('decoded')
    if (!isRight) codes.push(mistake ?? (body.length === 0 ? 'empty_body' : 'no_match'))
    // HTTP ignores blanks around a header.
    else if (codes.length === 1 && codes[0] === 'header_blanks') return []
  }
  return codes.map((code) => ({
    code,
    text: code in TEXTS ? TEXTS[code as keyof typeof TEXTS] : SIGNATURE_MISTAKES[code as SignatureMistakeCode].fact,
  }))
}

/** Returns the correct form of the header, if it can be derived. */
function repairHeader(header: string, codes: FindingCode[]): string | undefined {
  const trimmed = header.trim()
  const value = trimmed.replace(/^(["']+)(.*)\1$/, '$2')
  if (value !== trimmed) codes.push('header_quotes')
  if (value === '') codes.push('header_missing')
  else if (trimmed !== header) codes.push('header_blanks')
  if (value === '' || isWellFormed(value)) return value === '' ? undefined : value
  if (/^sha1=/i.test(value)) {
    codes.push('sha1')
    return undefined
  }
  const digits = value.replace(/^sha256=/i, '')
  if (!value.startsWith('sha256=')) codes.push('no_prefix')
  if (/^[A-Za-z0-9+/]{43}=$/.test(digits)) {
    codes.push('base64')
    return `sha256=${Buffer.from(digits, 'base64').toString('hex')}`
  }
  if (isWellFormed(`sha256=${digits}`)) return `sha256=${digits}`
  codes.push(/^[0-9a-f]*$/i.test(digits) ? 'wrong_length' : 'not_hex')
  return undefined
}

function findMistake(body: Uint8Array, signature: string, secret: string): SignatureMistakeCode | undefined {
  const codes = Object.keys(SIGNATURE_MISTAKES) as SignatureMistakeCode[] // its own keys
  return codes.find((code) =>
    SIGNATURE_MISTAKES[code].sign(body, Buffer.from(secret)).includes(signature.toLowerCase()),
  )
}

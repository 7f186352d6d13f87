import { isWellFormed, verify } from '../../protocol/signature.ts'
import { escapeSlashes, escapeUnicode, formatJson } from '../../wire/json-forms.ts'

export interface Mismatch {
  readonly code: FindingCode
  readonly text: string
}

const TEXTS = {
  header_missing: 'The header is empty: the delivery was not signed, or the header got lost on the way.',
  header_blanks: 'The header has blanks around it; HTTP ignores them.',
  no_prefix: 'The header has no "sha256=" in front of its digits.',
  sha1: 'The header holds an HMAC-SHA1; the service signs with HMAC-SHA256.',
  base64: 'The digest is written in base64; the service writes hexadecimal digits.',
  not_hex: 'The header is not made of hexadecimal digits behind "sha256=".',
  wrong_length: 'The header does not have 64 digits behind "sha256=": it was cut, or something was added.',
  secret_blanks: 'The secret has blanks or a line break around it: trim it.',
  final_newline: 'It matches the body with another end: a line break was added or removed there.',
  line_breaks: 'It matches the body with other line breaks: LF and CRLF were exchanged.',
  byte_order_mark: 'It matches the body with or without a byte order mark: the body was decoded to text on the way.',
  reserialised:
    'It matches the same JSON serialized in another way: your body was parsed and re-serialised. Sign the raw bytes, as they were received.',
  decoded:
    'The body contains U+FFFD, the replacement for an invalid byte: it was probably decoded to text before it came here.',
  no_match:
    'It matches neither this body nor one of the usual rewritings of it: the secret is another one (each registration has its own), or the body is.',
} as const

type FindingCode = keyof typeof TEXTS

/** Finds out why a signature is wrong, by trying the usual mistakes. Returns none if it is right. No text contains a secret or a digest. */
export function explainMismatch(body: Uint8Array, header: string, secret: string): readonly Mismatch[] {
  const codes: FindingCode[] = []
  const signature = repairHeader(header, codes)
  const trimmed = secret.trim()
  if (trimmed !== secret) codes.push('secret_blanks')
  if (signature !== undefined && trimmed !== '') {
    const fit = [{ code: undefined, bytes: body }, ...rewrite(body)].find(({ bytes }) =>
      verify(bytes, signature, trimmed),
    )
    if (fit === undefined && Buffer.from(body).includes('\ufffd')) codes.push('decoded')
    if (fit === undefined) codes.push('no_match')
    else if (fit.code !== undefined) codes.push(fit.code)
    // HTTP ignores blanks around a header.
    else if (codes.length === 1 && codes[0] === 'header_blanks') return []
  }
  return codes.map((code) => ({ code, text: TEXTS[code] }))
}

/** Returns the correct form of the header, if it can be derived. */
function repairHeader(header: string, codes: FindingCode[]): string | undefined {
  const value = header.trim()
  if (value === '') codes.push('header_missing')
  else if (value !== header) codes.push('header_blanks')
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

/** Lists what the body may have been before a change, the smallest changes first. */
function rewrite(body: Uint8Array) {
  const text = Buffer.from(body).toString()
  const bare = withoutFinalBreaks(text)
  const withLf = text.replaceAll('\r\n', '\n')
  const forms: readonly (readonly [FindingCode, readonly string[]])[] = [
    ['final_newline', [bare, `${bare}\n`, `${bare}\r\n`, text.trim()]],
    ['line_breaks', [withLf, withLf.replaceAll('\n', '\r\n')]],
    ['byte_order_mark', [text.replace(/^\ufeff/, ''), `\ufeff${text}`]],
    ['reserialised', writeAgain(text)],
  ]
  return forms.flatMap(([code, texts]) => texts.map((each) => ({ code, bytes: Buffer.from(each) })))
}

/** Works without a pattern, which would be slow for a million line breaks within the body. */
function withoutFinalBreaks(text: string): string {
  let end = text.length
  while (text.endsWith('\n', end)) end -= text.endsWith('\r\n', end) ? 2 : 1
  return text.slice(0, end)
}

function writeAgain(text: string): readonly string[] {
  try {
    return listForms(JSON.parse(text.replace(/^\ufeff/, '')))
  } catch {
    return [] // not JSON, or nested too deeply to be serialized
  }
}

function listForms(value: unknown): readonly string[] {
  const four = JSON.stringify(value, null, 4)
  const pretty = formatJson(value, 'pretty')
  const plain = [JSON.stringify(value), formatJson(value, 'spaced'), pretty.trimEnd(), pretty, four, `${four}\n`]
  const ascii = plain.map(escapeUnicode)
  return [...plain, ...ascii, ...[...plain, ...ascii].map(escapeSlashes)]
}

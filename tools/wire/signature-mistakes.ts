import { type BinaryLike, createHash, createHmac } from 'node:crypto'
import { type Secret, sign } from '../../src/protocol/signature.ts'
import { escapeSlashes, escapeUnicode, formatJson } from './json-forms.ts'

/** Fault of a signature header that is otherwise right. */
export type SignatureFault = 'other-secret' | 'two-headers' | 'no-prefix' | 'sha1' | 'short' | 'long' | 'non-hex'

/** The secret of the tamper `other-secret`. */
export const OTHER_SECRET = 'a secret that the receiver does not have'

const FAULTS: Readonly<Record<SignatureFault, (right: string, body: Uint8Array, secret: Secret) => readonly string[]>> =
  {
    'other-secret': (_right, body) => [sign(body, OTHER_SECRET)],
    'two-headers': (right, body) => [right, sign(body, OTHER_SECRET)],
    'no-prefix': (right) => [right.slice('sha256='.length)],
    sha1: (_right, body, secret) => [`sha1=${digestOf(secret, body, 'sha1')}`],
    short: (right) => [right.slice(0, -2)],
    long: (right) => [`${right}00`],
    'non-hex': (right) => [`${right.slice(0, -1)}g`],
  }

/** All faults of a signature header. */
export const SIGNATURE_FAULTS: readonly string[] = Object.keys(FAULTS)

/** Returns the values of a body's signature header with that fault. */
export function spoilSignature(fault: SignatureFault, body: Uint8Array, secret: Secret): readonly string[] {
  return FAULTS[fault](sign(body, secret), body, secret)
}

/** Flips the lowest bit of the middle byte: text stays text, with one other character. */
export function flipBit(body: Uint8Array): Uint8Array<ArrayBuffer> {
  const flipped = new Uint8Array(body)
  const middle = flipped.length >> 1
  flipped[middle] = (flipped[middle] ?? 0) ^ 1
  return flipped
}

/** Mistake in code that computes a signature. */
export interface SignatureMistake {
  /** Describes the signature that the mistake leads to. */
  readonly fact: string
  /** Describes the fix to the owner of a receiver. */
  readonly fix: string
  /** Makes the headers that the mistake leads to, one for each of its variants. None of them is right. */
  readonly sign: (body: Uint8Array, secret: Buffer) => readonly string[]
}

const digestOf = (key: BinaryLike, body: BinaryLike, algorithm = 'sha256') =>
  createHmac(algorithm, key).update(body).digest('hex')

const hash = (...parts: readonly Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest('hex')

const withKeys =
  (toKeys: (secret: Buffer) => readonly (string | Buffer)[]): SignatureMistake['sign'] =>
  (body, secret) =>
    toKeys(secret).map((key) => `sha256=${digestOf(key, body)}`)

const withBodies =
  (toBodies: (text: string) => readonly string[]): SignatureMistake['sign'] =>
  (body, secret) => {
    const text = Buffer.from(body).toString()
    return [...new Set(toBodies(text))]
      .filter((each) => !Buffer.from(each).equals(body))
      .map((each) => `sha256=${digestOf(secret, each)}`)
  }

/** Texts that a program signs with if it has no secret: what languages write for one, and defaults that examples use. */
export const MISSING_SECRETS: readonly string[] = [
  ...['', 'undefined', 'null', 'None', '<nil>', 'nil', 'false', '0', '[object Object]', ' ', '   ', '***'],
  ...['changeme', 'change-me', 'secret', 'test', 'dev', 'webhook', 'default', 'password', 'development', 'example'],
  ...['dev-secret', 'test-secret', 'webhook-secret', 'webhook_secret', 'my-secret', 'mysecret', 'supersecret'],
  ...['secret123', 'your-secret', 'your_secret', 'your-webhook-secret', 'your_webhook_secret', 'WEBHOOK_SECRET'],
]

/** Mistakes in computing a signature, by code: the smallest changes of a body first. */
export const SIGNATURE_MISTAKES = {
  no_prefix: {
    fact: 'The signature has no "sha256=" in front of its digits.',
    fix: 'Put it in front of the digest that the receiver computes.',
    sign: (body, secret) => [digestOf(secret, body)],
  },
  upper_case: {
    fact: 'The digest is written in upper case; the service writes it in lower case.',
    fix: 'Decode both, and compare the bytes.',
    sign: (body, secret) => [`sha256=${digestOf(secret, body).toUpperCase()}`],
  },
  base64: {
    fact: 'The digest is written in base64; the service writes hexadecimal digits.',
    fix: 'Encode it as hex instead of base64.',
    sign: (body, secret) =>
      (['base64', 'base64url'] as const).flatMap((encoding) => {
        const digest = Buffer.from(digestOf(secret, body), 'hex').toString(encoding)
        return [digest, `sha256=${digest}`]
      }),
  },
  other_algorithm: {
    fact: 'The digest is another one than HMAC-SHA256, such as HMAC-SHA1.',
    fix: 'Compute HMAC-SHA256, and put "sha256=" in front.',
    sign: (body, secret) =>
      ['sha1', 'sha512'].flatMap((algorithm) => {
        const digest = digestOf(secret, body, algorithm)
        return [`${algorithm}=${digest}`, `sha256=${digest}`]
      }),
  },
  no_hmac: {
    fact: 'The digest is a hash of the secret and the body together.',
    fix: 'Compute HMAC-SHA256 of the body, with the secret as its key.',
    sign: (body, secret) => [`sha256=${hash(secret, body)}`, `sha256=${hash(body, secret)}`],
  },
  swapped: {
    fact: 'The digest uses the body as the key and the secret as the text.',
    fix: 'Swap the two: the secret is the key.',
    sign: (body, secret) => [`sha256=${digestOf(body, secret)}`],
  },
  secret_missing: {
    fact: 'The signature is made without a secret: with an empty one, or with a word such as "undefined" or "changeme", as anyone can.',
    fix: 'Set the environment variable of the receiver, use its text as it is (decoded as hexadecimal digits, it may become empty), and refuse to start without a secret.',
    sign: withKeys(() => MISSING_SECRETS),
  },
  secret_edges: {
    fact: 'The signature is made with a secret that begins or ends with a space or a line break.',
    fix: 'Trim it when the receiver reads it.',
    sign: withKeys((secret) => [`${secret}\n`, `${secret}\r\n`, `${secret}\r`, `${secret} `, ` ${secret}`]),
  },
  secret_quoted: {
    fact: 'The signature is made with quotes around the secret, which some readers of env files keep.',
    fix: 'Write it without quotes.',
    sign: withKeys((secret) => [`"${secret}"`, `'${secret}'`]),
  },
  secret_decoded: {
    fact: 'The signature is made with a secret that was decoded from base64 or hexadecimal digits, or that lacks its beginning.',
    fix: 'Use the text of the secret as it is.',
    sign: withKeys((secret) => {
      const tail = `${secret}`.replace(/^[a-z]+_/, '')
      const decoded = [`${secret}`, tail].flatMap((text) => [Buffer.from(text, 'base64'), Buffer.from(text, 'hex')])
      return tail === `${secret}` ? decoded : [...decoded, tail]
    }),
  },
  body_lost: {
    fact: 'The signature is that of an empty body: a parser had already read the body.',
    fix: 'Mount the receiver before the parser, or let the parser keep the raw bytes.',
    sign: withBodies(() => ['', '{}', '[object Object]', 'undefined']),
  },
  body_encoded: {
    fact: 'The signature is that of the body in base64, in which some gateways pass it on (isBase64Encoded).',
    fix: 'Decode it, and sign the bytes.',
    sign: (body, secret) => [`sha256=${digestOf(secret, Buffer.from(body).toString('base64'))}`],
  },
  final_newline: {
    fact: 'It matches the body with another end: a line break was added or removed there.',
    fix: 'Sign the raw bytes as they were received.',
    sign: withBodies((text) => {
      const bare = withoutFinalBreaks(text)
      return [bare, `${bare}\n`, `${bare}\r\n`, text.trim()]
    }),
  },
  line_breaks: {
    fact: 'It matches the body with other line breaks: LF and CRLF were exchanged.',
    fix: 'Sign the raw bytes as they were received.',
    sign: withBodies((text) => {
      const withLf = text.replaceAll('\r\n', '\n')
      return [withLf, withLf.replaceAll('\n', '\r\n')]
    }),
  },
  byte_order_mark: {
    fact: 'It matches the body with or without a byte order mark: the body was decoded to text on the way.',
    fix: 'Sign the raw bytes as they were received.',
    sign: withBodies((text) => [text.replace(/^\ufeff/, ''), `\ufeff${text}`]),
  },
  reserialised: {
    fact: 'The JSON is parsed and serialized again before it is signed: the signature is that of another format of it.',
    fix: 'Sign the raw bytes, before any parser; if your code does so, a proxy in front of it rewrites the JSON.',
    sign: withBodies((text) => {
      try {
        const value: unknown = JSON.parse(text.replace(/^\ufeff/, ''))
        return [value, sortKeys(value), sortKeys(value, 'inner')].flatMap(listForms)
      } catch {
        return [] // not JSON, or nested too deeply to be serialized
      }
    }),
  },
} satisfies Readonly<Record<string, SignatureMistake>>

/** Code of a mistake in computing a signature. */
export type SignatureMistakeCode = keyof typeof SIGNATURE_MISTAKES

/** Works without a pattern, which would be slow for a million line breaks within the body. */
function withoutFinalBreaks(text: string): string {
  let end = text.length
  while (text.endsWith('\n', end)) end -= text.endsWith('\r\n', end) ? 2 : 1
  return text.slice(0, end)
}

function listForms(value: unknown): readonly string[] {
  const four = JSON.stringify(value, null, 4)
  const pretty = formatJson(value, 'pretty')
  const plain = [JSON.stringify(value), formatJson(value, 'spaced'), pretty.trimEnd(), pretty, four, `${four}\n`]
  const ascii = plain.map(escapeUnicode)
  return [...plain, ...ascii, ...[...plain, ...ascii].map(escapeSlashes)]
}

/** Sorts the keys of objects: of all, or only of inner ones, as Go does if the envelope is a struct and its data a map. */
function sortKeys(value: unknown, which: 'all' | 'inner' = 'all'): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const entries = Object.entries(value)
  if (which === 'all') entries.sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, inner]) => [key, sortKeys(inner)]))
}

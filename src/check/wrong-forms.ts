import { createHash, createHmac } from 'node:crypto'
import { escapeUnicode, formatJson } from '../wire/json-forms.ts'
import { SIGNATURE_NAME } from '../wire/signature-name.ts'
import type { Maker, TestDelivery } from './case.ts'
import { signWith } from './maker.ts'

/** Mistake in a receiver, with deliveries that only a receiver with this mistake accepts. */
interface Mistake {
  readonly text: string
  /** Checks of other groups that fail because of the mistake as well. */
  readonly also?: readonly string[]
  readonly deliver: (make: Maker, secret: Buffer) => readonly TestDelivery[]
}

/** Makes a delivery of a new event with a header computed from its body. */
function withHeader(make: Maker, toHeader: (body: Uint8Array) => string): TestDelivery {
  const { body } = make.delivery(make.event())
  return make.delivery(body, { signature: () => toHeader(body) })
}

const withDigest = (make: Maker, toDigest: (body: Uint8Array) => string) =>
  withHeader(make, (body) => `sha256=${toDigest(body)}`)

const withKeys = (make: Maker, keys: readonly (string | Buffer)[]) => keys.map((key) => signWith(make, key))

const hmac = (key: string | Uint8Array, text: string | Uint8Array, algorithm = 'sha256') =>
  createHmac(algorithm, key).update(text)

const hash = (...parts: readonly Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest('hex')

function sortKeys(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, inner]) => [key, sortKeys(inner)]))
}

/** Header names that other services use, and that people are likely to choose. */
const OTHER_HEADERS = [
  ...['X-Hub-Signature-256', 'X-Hub-Signature', 'X-Signature', 'X-Signature-256', 'X-Signature-Sha256'],
  ...['X-Webhook-Signature', 'Webhook-Signature', 'Signature', 'Service-Signature', 'X-Hmac-Sha256'],
]

/** Mistakes that make a receiver refuse plain deliveries, by code; the first match is reported. */
export const WRONG_FORMS = {
  other_header: {
    text: 'The receiver reads the signature from another header, such as that of another service. Read X-Service-Signature.',
    deliver: (make) =>
      OTHER_HEADERS.flatMap((signatureName) =>
        ['sha256=', ''].map((prefix) =>
          make.delivery(make.event(), { signatureName, signature: (right) => right.replace('sha256=', prefix) }),
        ),
      ),
  },
  header_case: {
    text: 'The receiver looks only for x-service-signature in lower case, but the service writes X-Service-Signature. Look the header up without regard to case.',
    deliver: (make) => [make.delivery(make.event(), { signatureName: SIGNATURE_NAME.toLowerCase() })],
  },
  no_prefix: {
    text: 'The receiver compares the header with the bare digest. Put "sha256=" in front of the digest that it computes.',
    also: ['signature-no-prefix'],
    deliver: (make) => [make.delivery(make.event(), { signature: (right) => right.slice('sha256='.length) })],
  },
  upper_case: {
    text: 'The receiver writes the digest in upper case, but the service in lower case. Decode both, and compare the bytes.',
    deliver: (make, secret) => [withDigest(make, (body) => hmac(secret, body).digest('hex').toUpperCase())],
  },
  base64: {
    text: 'The receiver writes the digest in base64, but the service in hexadecimal digits. Encode it as hex instead of base64.',
    deliver: (make, secret) =>
      (['base64', 'base64url'] as const).flatMap((encoding) => {
        const digest = (body: Uint8Array) => hmac(secret, body).digest(encoding)
        return [withDigest(make, digest), withHeader(make, digest)]
      }),
  },
  other_algorithm: {
    text: 'The receiver computes another digest than HMAC-SHA256, such as HMAC-SHA1. Compute HMAC-SHA256, and put "sha256=" in front.',
    also: ['signature-sha1'],
    deliver: (make, secret) =>
      ['sha1', 'sha512'].flatMap((algorithm) => {
        const digest = (body: Uint8Array) => hmac(secret, body, algorithm).digest('hex')
        return [withHeader(make, (body) => `${algorithm}=${digest(body)}`), withDigest(make, digest)]
      }),
  },
  no_hmac: {
    text: 'The receiver hashes the secret and the body together. Compute HMAC-SHA256 of the body, with the secret as its key.',
    deliver: (make, secret) => [
      withDigest(make, (body) => hash(secret, body)),
      withDigest(make, (body) => hash(body, secret)),
    ],
  },
  swapped: {
    text: 'The receiver uses the body as the key and the secret as the text. Swap the two: the secret is the key.',
    deliver: (make, secret) => [withDigest(make, (body) => hmac(body, secret).digest('hex'))],
  },
  secret_missing: {
    text: 'The receiver has no secret: it signs with an empty one, or with the word "undefined", as anyone can. Set its environment variable, use the text as it is (decoded as hexadecimal digits, it may become empty), and refuse to start without a secret.',
    also: ['signature-no-secret', 'signature-unknown-account'],
    deliver: (make) => withKeys(make, ['', 'undefined', 'null', 'None']),
  },
  secret_edges: {
    text: 'The secret of the receiver begins or ends with a space or a line break. Trim it when the receiver reads it.',
    deliver: (make, secret) =>
      withKeys(make, [`${secret}\n`, `${secret}\r\n`, `${secret}\r`, `${secret} `, ` ${secret}`]),
  },
  secret_quoted: {
    text: 'The secret of the receiver has quotes around it, which some readers of env files keep. Write it without quotes.',
    deliver: (make, secret) => withKeys(make, [`"${secret}"`, `'${secret}'`]),
  },
  secret_decoded: {
    text: 'The receiver decodes its secret from base64 or hexadecimal digits, or cuts off its beginning. Use the text of the secret as it is.',
    deliver: (make, secret) => {
      const tail = `${secret}`.replace(/^[a-z]+_/, '')
      const decoded = [`${secret}`, tail].flatMap((text) => [Buffer.from(text, 'base64'), Buffer.from(text, 'hex')])
      return withKeys(make, tail === `${secret}` ? decoded : [...decoded, tail])
    },
  },
  body_lost: {
    text: 'The receiver signs an empty body: a parser in front of it has already read the body. Mount the receiver before the parser, or let the parser keep the raw bytes.',
    deliver: (make, secret) =>
      ['', '{}', '[object Object]', 'undefined'].map((text) =>
        withDigest(make, () => hmac(secret, text).digest('hex')),
      ),
  },
  body_encoded: {
    text: 'The receiver signs the body in base64, in which some gateways pass it on (isBase64Encoded). Decode it, and sign the bytes.',
    deliver: (make, secret) => [
      withDigest(make, (body) => hmac(secret, Buffer.from(body).toString('base64')).digest('hex')),
    ],
  },
  decoded: {
    text: 'Bodies of ASCII characters pass, but others do not: the body is decoded with another charset than UTF-8 before it is signed. Sign the raw bytes.',
    deliver: (make) => {
      const event = make.event()
      const record = { _id: make.contact()._id, firstName: 'Zoe' }
      // Indents by three, which no serializer does by default.
      return [make.delivery(JSON.stringify({ ...event, data: { record } }, null, 3))]
    },
  },
  reserialised: {
    text: 'The JSON is parsed and serialized again before it is signed: the receiver accepts another format of it. Sign the raw bytes, before any parser; if your code does so, a proxy in front of it rewrites the JSON.',
    also: ['signature-reserialised'],
    deliver: (make) => {
      const forms: readonly ((event: unknown) => string)[] = [
        (event) => JSON.stringify(event),
        (event) => escapeUnicode(JSON.stringify(event)),
        (event) => escapeUnicode(formatJson(event, 'spaced')),
        (event) => JSON.stringify(sortKeys(event)),
        (event) => escapeUnicode(JSON.stringify(sortKeys(event))),
        (event) => formatJson(sortKeys(event), 'spaced'),
        (event) => escapeUnicode(formatJson(sortKeys(event), 'spaced')),
        (event) => formatJson(event, 'pretty').trim(),
      ]
      return forms.map((write) => make.delivery(write(make.event())))
    },
  },
} as const satisfies Readonly<Record<string, Mistake>>

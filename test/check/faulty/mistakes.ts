import { createHash, createHmac } from 'node:crypto'
import { HandWritten, SECRET } from './hand-written.ts'
import { Reserialising } from './signatures.ts'

const hmac = (key: string | Buffer, body: Buffer | string, algorithm = 'sha256') =>
  createHmac(algorithm, key).update(body)

/** Makes a receiver from the header that it computes from a body, and compares with the received one. */
const expecting = (toHeader: (body: Buffer) => string) =>
  class extends HandWritten {
    override isGenuine(body: Buffer, { headers }: Parameters<HandWritten['isGenuine']>[1]): boolean {
      return headers['x-service-signature'] === toHeader(body)
    }
  }

export const withKey = (key: string | Buffer) => expecting((body) => `sha256=${hmac(key, body).digest('hex')}`)
const withHeader = (name: string, prefix = 'sha256=') =>
  class extends HandWritten {
    override isGenuine(body: Buffer, { headers }: Parameters<HandWritten['isGenuine']>[1]): boolean {
      return headers[name] === prefix + hmac(SECRET, body).digest('hex')
    }
  }
const withForm = (write: (event: unknown) => string) =>
  expecting((body) => {
    const event = new HandWritten().parse(body)
    return event === undefined ? 'none' : `sha256=${hmac(SECRET, write(event)).digest('hex')}`
  })

/** Formats JSON like Python's json.dumps: blanks between values, and only ASCII. */
const toPython = (event: unknown) =>
  JSON.stringify(event, null, 1)
    .replace(/\n */g, ' ')
    .replaceAll('{ ', '{')
    .replaceAll(' }', '}')
    .replace('ë', '\\u00eb')

const toSorted = (event: unknown): string =>
  JSON.stringify(event, (_key, value) =>
    typeof value === 'object' ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value,
  )

/** Its gateway passes header names on as they were sent. */
class KnowsLowerCase extends HandWritten {
  override isGenuine(body: Buffer, request: Parameters<HandWritten['isGenuine']>[1]): boolean {
    return request.rawHeaders.includes('x-service-signature') && super.isGenuine(body, request)
  }
}

/** Receivers that refuse every plain delivery, with the code of their diagnosis. */
export const MISTAKES: readonly (readonly [code: string, what: string, Receiver: new () => HandWritten])[] = [
  ['other_header', 'the right digest in the header of another service', withHeader('x-hub-signature-256')],
  ['other_header', 'the bare digest in another header', withHeader('x-signature', '')],
  ['other_header', 'the right digest in a header of its own', withHeader('x-hmac-sha256')],
  ['header_case', 'the right digest in a header in lower case', KnowsLowerCase],
  ['no_prefix', 'the bare digest', expecting((body) => hmac(SECRET, body).digest('hex'))],
  ['upper_case', 'upper case', expecting((body) => `sha256=${hmac(SECRET, body).digest('hex').toUpperCase()}`)],
  ['base64', 'base64', expecting((body) => hmac(SECRET, body).digest('base64'))],
  ['base64', 'base64 with a prefix', expecting((body) => `sha256=${hmac(SECRET, body).digest('base64')}`)],
  ['base64', 'base64url', expecting((body) => hmac(SECRET, body).digest('base64url'))],
  ['other_algorithm', 'SHA-1', expecting((body) => `sha1=${hmac(SECRET, body, 'sha1').digest('hex')}`)],
  ['other_algorithm', 'SHA-512', expecting((body) => `sha256=${hmac(SECRET, body, 'sha512').digest('hex')}`)],
  [
    'no_hmac',
    'a hash',
    expecting((body) => `sha256=${createHash('sha256').update(SECRET).update(body).digest('hex')}`),
  ],
  [
    'no_hmac',
    'a hash',
    expecting((body) => `sha256=${createHash('sha256').update(body).update(SECRET).digest('hex')}`),
  ],
  ['swapped', 'the secret, and the body for a key', expecting((body) => `sha256=${hmac(body, SECRET).digest('hex')}`)],
  ['secret_missing', 'an empty secret', withKey('')],
  ['secret_missing', 'no secret', withKey(String(undefined))],
  ['secret_missing', 'the word null', withKey('null')],
  ['secret_missing', 'the word None', withKey('None')],
  ['secret_edges', 'a line break behind its secret', withKey(`${SECRET}\n`)],
  ['secret_edges', 'a carriage return behind its secret', withKey(`${SECRET}\r`)],
  ['secret_edges', 'a whole line end behind its secret', withKey(`${SECRET}\r\n`)],
  ['secret_edges', 'a blank behind its secret', withKey(`${SECRET} `)],
  ['secret_edges', 'a blank in front of its secret', withKey(` ${SECRET}`)],
  ['secret_quoted', 'quotes around its secret', withKey(`"${SECRET}"`)],
  ['secret_quoted', 'single quotes around its secret', withKey(`'${SECRET}'`)],
  ['secret_decoded', 'a decoded secret', withKey(Buffer.from(SECRET, 'base64'))],
  ['body_lost', 'an empty body', expecting(() => `sha256=${hmac(SECRET, '').digest('hex')}`)],
  ['body_lost', 'a parsed body', expecting(() => `sha256=${hmac(SECRET, '[object Object]').digest('hex')}`)],
  [
    'body_encoded',
    'the body in base64',
    expecting((body) => `sha256=${hmac(SECRET, body.toString('base64')).digest('hex')}`),
  ],
  [
    'final_newline',
    'a line break behind the body',
    expecting((body) => `sha256=${hmac(SECRET, `${body}\n`).digest('hex')}`),
  ],
  [
    'byte_order_mark',
    'a byte order mark',
    expecting((body) => `sha256=${hmac(SECRET, `\ufeff${body}`).digest('hex')}`),
  ],
  ['decoded', 'Latin-1', expecting((body) => `sha256=${hmac(SECRET, body.toString('latin1')).digest('hex')}`)],
  ['decoded', 'ASCII', expecting((body) => `sha256=${hmac(SECRET, body.toString('ascii')).digest('hex')}`)],
  [
    'normalized',
    'decomposed characters',
    expecting((body) => `sha256=${hmac(SECRET, `${body}`.normalize('NFD')).digest('hex')}`),
  ],
  ['reserialised', 'JSON as JavaScript writes it', Reserialising],
  ['reserialised', 'JSON as Python writes it', withForm(toPython)],
  ['reserialised', 'JSON as PHP writes it', withForm((event) => JSON.stringify(event).replace('ë', '\\u00eb'))],
  ['reserialised', 'JSON as Go writes it', withForm(toSorted)],
  [
    'reserialised',
    'a struct with a map in it, as Go writes it',
    withForm((event) => JSON.stringify({ ...Object(event), data: JSON.parse(toSorted(Object(event).data)) })),
  ],
  [
    'reserialised',
    'sorted JSON as Python writes it',
    withForm((event) =>
      JSON.stringify(JSON.parse(toSorted(event)), null, 1)
        .replace(/\n */g, ' ')
        .replaceAll('{ ', '{')
        .replaceAll(' }', '}'),
    ),
  ],
  ['reserialised', 'sorted JSON as PHP writes it', withForm((event) => toSorted(event).replace('ë', '\\u00eb'))],
  [
    'reserialised',
    'sorted JSON of ASCII as Python writes it',
    withForm((event) => toPython(JSON.parse(toSorted(event)))),
  ],
  ['reserialised', 'indented JSON', withForm((event) => JSON.stringify(event, null, 2))],
  ['refused', 'another secret', withKey('another secret')],
  ['refused', 'a digest of something else', expecting(() => 'something else')],
]

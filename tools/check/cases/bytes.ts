import { escapeSlashes, escapeUnicode, formatJson } from '../../wire/json-forms.ts'
import type { Case, Maker, Scene, SingleCase, TestDelivery } from '../case.ts'
import { MUST_BE_ACCEPTED, mustBeAccepted, SHOULD_BE_ACCEPTED } from '../verdict.ts'

const WHY =
  'The delivery is genuine: the signature covers the bytes, and the service does not document how it formats its JSON.'
const FIX = 'Compute the digest over the bytes as received; do not parse and serialize them again.'

const writeSpaced = (make: Maker, changes = {}) => formatJson(make.event(changes), 'spaced')

const forms: readonly (Pick<SingleCase, 'id' | 'sends' | 'deliver'> & Partial<SingleCase>)[] = [
  {
    id: 'bytes-escaped-slashes',
    sends: 'An event with slashes written as "\\/".',
    deliver: (make) => make.delivery(escapeSlashes(writeSpaced(make, { note: 'https://example.test/a/b' }))),
  },
  {
    id: 'bytes-escaped-unicode',
    sends: 'An event with non-ASCII letters written as "\\u" and four digits.',
    deliver: (make) => make.delivery(escapeUnicode(writeSpaced(make, { note: 'Zoë, 東京' }))),
  },
  {
    id: 'bytes-pretty',
    sends: 'An event over several lines, indented, with a line break at the end.',
    fix: `${FIX} Do not trim them either.`,
    deliver: (make) => make.delivery(formatJson(make.event(), 'pretty')),
  },
  {
    id: 'bytes-line-ends',
    sends: 'An event over several lines, with CR and LF between them.',
    fix: `${FIX} Code that reads its input as text often turns CR and LF into LF.`,
    deliver: (make) => make.delivery(formatJson(make.event(), 'pretty').trimEnd().replaceAll('\n', '\r\n')),
  },
  {
    id: 'bytes-compact',
    sends: 'An event without spaces between its values.',
    deliver: (make) => make.delivery(JSON.stringify(make.event())),
  },
  {
    id: 'bytes-four-byte-characters',
    sends: 'A contact whose last name has characters that take three and four bytes in UTF-8.',
    why: 'People type such characters into every field. Some databases store at most three bytes per character, such as the "utf8" of MySQL.',
    fix: 'Store text as full UTF-8 (utf8mb4).',
    deliver: (make) => make.delivery(make.event({ data: { record: make.contact({ lastName: '東京 🚪' }) } })),
  },
  {
    id: 'bytes-decomposed',
    sends:
      'An event with characters that Unicode normalization changes: "e" and a combining diaeresis, the Angstrom sign, and the ligature "\ufb01".',
    why: 'The signature covers the bytes as they were sent. A receiver that normalizes text (NFC, NFKC) before it computes the digest refuses what people type on a Mac, or paste from a PDF.',
    fix: `${FIX} If text is normalized, do it after the signature is verified, to the fields that need it.`,
    deliver: (make) => make.delivery(make.event({ note: 'Zoe\u0308, \u212b, \ufb01' })),
  },
  {
    id: 'bytes-charset',
    sends: 'An event with the content type "application/json; charset=utf-8".',
    why: 'The parameter of the content type changes nothing, and a sender may start to add it at any time.',
    fix: 'Do not compare the whole content type before reading the body: ignore its parameters.',
    deliver: (make) => make.delivery(make.event(), { contentType: 'application/json; charset=utf-8' }),
  },
]

const CHARACTERS = 'ë東🚪'.repeat(25)
/** Bytes of these characters before each split: each lies within a character, of two, three and four bytes. */
const SPLITS = [1, 75, 150]
/** A receiver may serve one request at a time: it then answers no other one between the parts. */
const READ_MS = 1_000

/** Splits a body within three characters, and lets the receiver read each part before the next is sent. */
const splitCharacters = ({ make, sendOnce, wait }: Scene): TestDelivery => {
  async function* toParts(body: Uint8Array): AsyncGenerator<Uint8Array> {
    const start = Buffer.from(body).indexOf(CHARACTERS)
    let sent = 0
    for (const split of SPLITS) {
      yield body.subarray(sent, start + split)
      sent = start + split
      // Time alone does not show it: on a busy machine, the receiver reads several parts as one.
      const other = make.delivery('', { method: 'GET', signature: () => undefined })
      await Promise.race([sendOnce(other), wait(READ_MS)])
    }
    yield body.subarray(sent)
  }
  return make.delivery(make.event({ note: CHARACTERS }), { toParts })
}

export const bytes: readonly Case[] = [
  ...forms.map((form): Case => ({ ...MUST_BE_ACCEPTED, why: WHY, fix: FIX, ...form })),
  {
    id: 'bytes-split-characters',
    sends:
      'An event full of letters of two to four bytes, split within three of them; between the parts, the receiver answers a GET request.',
    expects: '2xx',
    why: 'Networks split bodies anywhere. Code that decodes each part to text breaks the characters that lie across a split.',
    fix: 'Collect the parts as bytes (Buffer.concat) instead of appending them to a string.',
    run: async (scene) => mustBeAccepted(await scene.send(splitCharacters(scene))),
  },
  {
    id: 'bytes-duplicate-keys',
    ...SHOULD_BE_ACCEPTED,
    sends: 'An event with one key twice; the last one counts.',
    why: `${WHY} Most parsers take the last of two equal keys; strict ones refuse both, which JSON allows.`,
    fix: FIX,
    deliver: (make) => make.delivery(writeSpaced(make, { note: 'second' }).replace(/^{/, '{"note": "first", ')),
  },
  {
    id: 'bytes-chunked',
    ...SHOULD_BE_ACCEPTED,
    sends: 'An event in chunked encoding, without a declared length.',
    why: 'The service does not document how it declares the length of a body, and proxies on the way may change it.',
    fix: 'Use a server that reads chunked bodies, or a proxy in front of it that buffers them.',
    deliver: (make) => make.delivery(make.event(), { isChunked: true }),
  },
]

import { escapeSlashes, escapeUnicode, formatJson } from '../../wire/json-forms.ts'
import type { Case, SingleCase } from '../case.ts'
import { mustBeAccepted, shouldBeAccepted } from '../verdict.ts'

const WHY = 'It is genuine: the signature covers the bytes, and how the service writes its JSON is not documented.'
const FIX = 'Sign the bytes as they came in; do not parse and write them again.'

const forms: readonly (Pick<SingleCase, 'id' | 'sends' | 'deliver'> & Partial<SingleCase>)[] = [
  {
    id: 'bytes-escaped-slashes',
    sends: 'An event whose slashes are written "\\/".',
    deliver: (make) =>
      make.delivery(escapeSlashes(formatJson(make.event({ note: 'https://example.test/a/b' }), 'spaced'))),
  },
  {
    id: 'bytes-escaped-unicode',
    sends: 'An event whose letters beyond ASCII are written as "\\u" and four digits.',
    deliver: (make) => make.delivery(escapeUnicode(formatJson(make.event({ note: 'Zoë, 東京' }), 'spaced'))),
  },
  {
    id: 'bytes-pretty',
    sends: 'An event over several lines, indented, with a line break at the end.',
    fix: `${FIX} Nor trim them.`,
    deliver: (make) => make.delivery(formatJson(make.event(), 'pretty')),
  },
  {
    id: 'bytes-line-ends',
    sends: 'An event over several lines, with CR and LF between them.',
    fix: `${FIX} What reads its input as text often turns CR and LF into LF.`,
    deliver: (make) => make.delivery(formatJson(make.event(), 'pretty').trimEnd().replaceAll('\n', '\r\n')),
  },
  {
    id: 'bytes-compact',
    sends: 'An event without a blank between its values.',
    deliver: (make) => make.delivery(JSON.stringify(make.event())),
  },
  {
    id: 'bytes-number-forms',
    sends: 'An event with numbers written 1.50e2, 10.0 and -0.',
    deliver: (make) =>
      make.delivery(formatJson(make.event(), 'spaced').replace(/}$/, ', "numbers": [1.50e2, 10.0, -0]}')),
  },
  {
    id: 'bytes-key-order',
    sends: 'An event whose keys stand in another order: data first, id last.',
    deliver: (make) => {
      const { id, type, timestamp, accountKey, data } = make.event()
      return make.delivery(formatJson({ data, timestamp, accountKey, type, id }, 'spaced'))
    },
  },
  {
    id: 'bytes-four-byte-characters',
    sends: 'An event with a character of four bytes in UTF-8.',
    why: 'People write such characters into every field that there is. Some databases store three bytes at most, such as the "utf8" of MySQL.',
    fix: 'Store text as UTF-8 in full (utf8mb4).',
    deliver: (make) => make.delivery(make.event({ note: '🚪' })),
  },
  {
    id: 'bytes-split-characters',
    sends: 'An event full of letters of two to four bytes, sent in pieces of seven bytes.',
    why: 'Networks cut bodies anywhere. Who makes text of each piece breaks the characters that lie across a cut.',
    fix: 'Collect the pieces as bytes (Buffer.concat) and do not add them to a string.',
    deliver: (make) => make.delivery(make.event({ note: 'ë東🚪'.repeat(20) }), { pieceSize: 7 }),
  },
  {
    id: 'bytes-charset',
    sends: 'An event with "application/json; charset=utf-8" for its content type.',
    why: 'A parameter of the content type changes nothing, and a sender may begin to add it at any time.',
    fix: 'Do not choose by the exact text of the content type whether the body is read.',
    deliver: (make) => make.delivery(make.event(), { contentType: 'application/json; charset=utf-8' }),
  },
]

/** Whether everything is accepted that was signed, however it is written. */
export const bytes: readonly Case[] = [
  ...forms.map((form): Case => ({ level: 'fail', expects: '2xx', why: WHY, fix: FIX, judge: mustBeAccepted, ...form })),
  {
    id: 'bytes-duplicate-keys',
    level: 'warn',
    sends: 'An event with one key twice; the last is the one that counts.',
    expects: '2xx; otherwise a warning.',
    why: `${WHY} Most parsers take the last of two equal keys; strict ones refuse both, as they may.`,
    fix: FIX,
    deliver: (make) => make.delivery(formatJson(make.event(), 'spaced').replace(/^{/, '{"type": "contact.updated", ')),
    judge: shouldBeAccepted,
  },
  {
    id: 'bytes-chunked',
    level: 'warn',
    sends: 'An event without a declared length, in chunked encoding.',
    expects: '2xx; otherwise a warning.',
    why: 'The service does not say how it tells the length of a body, and proxies on the way may change it.',
    fix: 'Use a server that reads chunked bodies, or a proxy in front that collects them.',
    deliver: (make) => make.delivery(make.event(), { isChunked: true }),
    judge: shouldBeAccepted,
  },
]

import { gzipSync } from 'node:zlib'
import type { Case, SingleCase } from '../case.ts'
import { FORGED, signWith } from '../forgery.ts'
import { describe, isSuccess, mustBeRefused, mustBeTurnedAway, notAccepted, toVerdict } from '../verdict.ts'

const WHY = 'Whoever knows the URL can send events that the service never sent.'
const FIX = 'Compute HMAC-SHA256 over the raw bytes with the secret, and answer 401 unless the header is its digest.'
const DECODED = 'Who accepts this decodes the body to text before signing it: other bytes than the signed ones pass.'
const BYTES = 'Keep the body as bytes until the signature holds.'
const INFLATE =
  'Answer 415 to any Content-Encoding before the body is read, or switch off the inflating of the body reader.'

const forgeries: readonly (Pick<SingleCase, 'id' | 'sends' | 'deliver'> & Partial<SingleCase>)[] = [
  {
    id: 'signature-missing',
    sends: 'An event without X-Service-Signature.',
    fix: 'Refuse what has no signature before anything else is done with it.',
    deliver: (make) => make.delivery(make.event(), { signature: () => undefined }),
  },
  {
    id: 'signature-bit-flipped',
    sends: 'An event of which one bit was changed after it was signed.',
    deliver: (make) => {
      const event = make.event()
      const { body } = make.delivery(event)
      const bytes = Uint8Array.from(body)
      // In the name of the status: what is sent is still JSON, and still an event.
      const at = Buffer.from(body).lastIndexOf('active')
      bytes[at] = (bytes[at] ?? 0) ^ 1
      return make.delivery(body, { bytes })
    },
  },
  {
    id: 'signature-other-secret',
    sends: 'An event signed with another secret.',
    deliver: (make) => signWith(make, 'a secret that the receiver does not have'),
  },
  {
    id: 'signature-text',
    sends: 'An event with a wrong signature and "text/plain" for its content type.',
    why: `${WHY} The content type is theirs to choose as well.`,
    fix: 'Check the signature of every body, whatever its content type.',
    deliver: (make) => make.delivery(make.event(), { ...FORGED, contentType: 'text/plain' }),
  },
  {
    id: 'signature-form',
    sends: 'The fields of an event as a form (application/x-www-form-urlencoded), with a wrong signature.',
    why: 'A check that is a hook of the JSON parser is not asked where another parser reads the body, and forms make objects as well.',
    fix: 'Check the signature where the body is used, not in a hook of one parser; and let no other parser read it.',
    deliver: (make) => {
      const { id, type, timestamp, accountKey } = make.event()
      const form = new URLSearchParams({ id, type, timestamp, accountKey, 'data[record][_id]': make.contact()._id })
      const contentType = 'application/x-www-form-urlencoded'
      return make.delivery(form.toString(), { ...FORGED, contentType })
    },
  },
  {
    id: 'signature-other-body',
    sends: 'An event with the signature of another one.',
    deliver: (make) => {
      const { signatures } = make.delivery(make.event())
      return make.delivery(make.event(), { signature: () => signatures })
    },
  },
  {
    id: 'signature-reserialised',
    sends: 'An event with the signature of the same JSON, parsed and written again without blanks.',
    why: 'Who accepts this signs the parsed body again, and refuses genuine deliveries whose JSON is written in another way.',
    fix: 'Read the raw bytes before any JSON parser does, and sign those.',
    deliver: (make) => {
      const event = make.event()
      const { signatures } = make.delivery(JSON.stringify(event))
      return make.delivery(event, { signature: () => signatures })
    },
  },
  {
    id: 'signature-replaced-byte',
    sends: 'An event signed with U+FFFD in it, in place of which an invalid byte (0xFF) is sent.',
    why: DECODED,
    fix: BYTES,
    deliver: (make) => {
      const { body } = make.delivery(make.event({ note: '\ufffd' }))
      const at = Buffer.from(body).indexOf('\ufffd')
      return make.delivery(body, {
        bytes: Buffer.concat([body.subarray(0, at), Buffer.of(0xff), body.subarray(at + 3)]),
      })
    },
  },
  {
    id: 'signature-byte-order-mark',
    sends: 'An event in front of which a byte order mark was put after it was signed.',
    why: DECODED,
    fix: BYTES,
    deliver: (make) => {
      const { body } = make.delivery(make.event())
      return make.delivery(body, { bytes: Buffer.concat([Buffer.of(0xef, 0xbb, 0xbf), body]) })
    },
  },
  {
    id: 'gzip-after-signing',
    sends: 'An event that was compressed after it was signed, with "Content-Encoding: gzip".',
    expects: 'A 4xx, mostly 415 or 401. Never 2xx, never 5xx.',
    why: 'Who accepts this unpacks what anybody sends before the signature is looked at: a few kilobytes become gigabytes.',
    fix: INFLATE,
    deliver: (make) => {
      const { body } = make.delivery(make.event())
      return make.delivery(body, { bytes: gzipSync(body), contentEncoding: 'gzip' })
    },
    judge: mustBeTurnedAway,
  },
]

/** Whether everything is refused that the service has not signed. */
export const signature: readonly Case[] = [
  ...forgeries.map(
    (forgery): Case => ({
      level: 'fail',
      expects: '401; another 4xx passes with a note. Never 2xx, never 5xx.',
      why: WHY,
      fix: FIX,
      judge: mustBeRefused,
      ...forgery,
    }),
  ),
  {
    id: 'signature-no-secret',
    level: 'fail',
    sends: 'Two events: one signed with an empty secret, one with the word "undefined".',
    expects: '401 or another 4xx to both. Never 2xx, never 5xx.',
    why: 'Anybody can sign so. It is what a second secret comes to, such as the old one during a rotation, whose variable is not set.',
    fix: 'Leave out secrets that are not set, and refuse empty ones when the receiver starts.',
    run: async ({ make, send }) => {
      const verdict = mustBeRefused(await send(signWith(make, '')))
      return verdict.status === 'pass' ? mustBeRefused(await send(signWith(make, 'undefined'))) : verdict
    },
  },
  {
    id: 'signature-of-duplicate',
    level: 'fail',
    sends: 'A genuine event, and then the same one with a wrong signature.',
    expects: '2xx to the first; 401 or another 4xx to the second.',
    why: 'Who looks for duplicates before the signature tells anybody which events there were.',
    fix: 'Check the signature first, and look whether the event is known after that.',
    run: async ({ make, send }) => {
      const event = make.event()
      const first = await send(make.delivery(event))
      if (!isSuccess(first)) return notAccepted(first)
      return mustBeRefused(await send(make.delivery(event, FORGED)))
    },
  },
  {
    id: 'gzip-before-signing',
    level: 'fail',
    sends:
      'An event that was compressed before it was signed, with "Content-Encoding: gzip"; if that is accepted, also signed bytes that are no gzip at all.',
    expects: 'No 2xx; or 2xx to both, of a receiver that stores bytes unseen.',
    why: 'The service sends nothing compressed. Who unpacks it has a decompressor within reach of the network, with no limit mostly.',
    fix: INFLATE,
    run: async ({ make, send }) => {
      const deliver = (signed: Uint8Array) => send(make.delivery(signed, { contentEncoding: 'gzip' }))
      const answer = await deliver(gzipSync(make.delivery(make.event()).body))
      if (!isSuccess(answer)) return toVerdict(answer.status === undefined ? 'fail' : 'pass', answer)
      const other = await deliver(Buffer.from('no gzip'))
      return isSuccess(other)
        ? { status: 'pass', reason: `${describe(answer)}; it takes any signed bytes unseen` }
        : { status: 'fail', reason: `${describe(answer)}, but ${describe(other)} to what is no gzip: it was unpacked` }
    },
  },
  {
    id: 'signature-remembered',
    level: 'fail',
    sends: 'A genuine event, and then another one with its signature.',
    expects: '2xx to the first; 401 or another 4xx to the second.',
    why: 'A signature that was right once says nothing of other bytes. Whoever has seen one delivery could send any event.',
    fix: 'Compute the digest of every body. Tell duplicates by the id of the event, after the signature holds.',
    run: async ({ make, send }) => {
      const genuine = make.delivery(make.event())
      const first = await send(genuine)
      if (!isSuccess(first)) return notAccepted(first)
      return mustBeRefused(await send(make.delivery(make.event(), { signature: () => genuine.signatures })))
    },
  },
]

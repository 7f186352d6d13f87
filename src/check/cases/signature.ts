import { sign } from '../../protocol/signature.ts'
import type { Case, SingleCase } from '../case.ts'
import { isSuccess, mustBeRefused, shouldBeRefused, toVerdict } from '../verdict.ts'

type Forgery = Pick<SingleCase, 'id' | 'sends' | 'deliver'> & Partial<SingleCase>

const FORGED = 'Whoever knows the URL can send events that the service never sent.'
const MALFORMED =
  'Anybody can send this. What is compared without looking at its form can match, or end in an error or the end of the process.'
const CHECK_FORM =
  'Take exactly one header of "sha256=" and 64 hexadecimal digits, answer 401 to anything else, and only then compare the bytes of the two digests: timingSafeEqual throws where lengths differ.'

const forgeries: readonly Forgery[] = [
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
    deliver: (make) => {
      const { body } = make.delivery(make.event())
      return make.delivery(body, { signature: () => sign(body, 'a secret that the receiver does not have') })
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
]

const malformed: readonly Forgery[] = [
  {
    id: 'signature-sha1',
    sends: 'An event with "sha1=" and an HMAC-SHA1 of the right secret.',
    why: 'The service never signs so. Two algorithms are one more than can be kept right.',
    deliver: (make) => make.delivery(make.event(), { signature: (_, hmac) => `sha1=${hmac('sha1')}` }),
  },
  {
    id: 'signature-empty',
    sends: 'An event with an empty X-Service-Signature.',
    deliver: (make) => make.delivery(make.event(), { signature: () => '' }),
  },
  {
    id: 'signature-prefix-only',
    sends: 'An event with "sha256=" and no digit.',
    deliver: (make) => make.delivery(make.event(), { signature: () => 'sha256=' }),
  },
  {
    id: 'signature-short',
    sends: 'An event with the right signature, less its last two digits.',
    deliver: (make) => make.delivery(make.event(), { signature: (right) => right.slice(0, -2), pipe: ' | cut -c1-69' }),
  },
  {
    id: 'signature-long',
    sends: 'An event with the right signature and two digits more.',
    deliver: (make) => make.delivery(make.event(), { signature: (right) => `${right}00`, pipe: ' | sed s/$/00/' }),
  },
  {
    id: 'signature-non-hex',
    sends: 'An event with the right signature, its last digit replaced by "g".',
    deliver: (make) =>
      make.delivery(make.event(), { signature: (right) => `${right.slice(0, -1)}g`, pipe: ' | sed s/.$/g/' }),
  },
  {
    id: 'signature-non-ascii',
    sends: 'An event with the right signature, its last digit replaced by "é".',
    deliver: (make) => make.delivery(make.event(), { signature: (right) => `${right.slice(0, -1)}é` }),
  },
  {
    id: 'signature-two-headers',
    sends: 'An event with two X-Service-Signature headers, both wrong.',
    deliver: (make) =>
      make.delivery(make.event(), { signature: () => [`sha256=${'0'.repeat(64)}`, `sha256=${'1'.repeat(64)}`] }),
  },
]

const toCase =
  (shared: Pick<SingleCase, 'why' | 'fix'>) =>
  (forgery: Forgery): Case => ({
    level: 'fail',
    expects: '401; another 4xx passes with a note. Never 2xx, never 5xx.',
    judge: mustBeRefused,
    ...shared,
    ...forgery,
  })

/** Whether everything is refused that the service has not signed, in whatever form it comes. */
export const signature: readonly Case[] = [
  ...forgeries.map(
    toCase({
      why: FORGED,
      fix: 'Compute HMAC-SHA256 over the raw bytes with the secret, and answer 401 unless the header is its digest.',
    }),
  ),
  ...malformed.map(toCase({ why: MALFORMED, fix: CHECK_FORM })),
  {
    id: 'signature-no-prefix',
    level: 'fail',
    sends: 'An event with the right digest, without "sha256=".',
    expects: '401; a warning where it is accepted. Never 5xx.',
    why: 'Nobody without the secret can make it, but who takes two forms has two to keep right.',
    fix: CHECK_FORM,
    deliver: (make) =>
      make.delivery(make.event(), { signature: (right) => right.slice('sha256='.length), pipe: ' | cut -c8-' }),
    judge: shouldBeRefused,
  },
  {
    id: 'signature-replaced-byte',
    level: 'fail',
    sends: 'An event signed with U+FFFD in it, in place of which an invalid byte (0xFF) is sent.',
    expects: '401; a warning where it is accepted. Never 5xx.',
    why: 'Who accepts this decodes the body to text before signing it: other bytes than the signed ones pass.',
    fix: 'Keep the body as bytes until the signature holds.',
    deliver: (make) => {
      const { body } = make.delivery(make.event({ note: '\ufffd' }))
      const at = Buffer.from(body).indexOf('\ufffd')
      return make.delivery(body, {
        bytes: Buffer.concat([body.subarray(0, at), Buffer.of(0xff), body.subarray(at + 3)]),
      })
    },
    judge: shouldBeRefused,
  },
  {
    id: 'signature-hex-case',
    level: 'fail',
    sends: 'An event with the right signature, its digits in upper case.',
    expects: 'Anything but a 5xx; which of the two is told.',
    why: 'The service writes lower case today. Who compares bytes and not text need not care.',
    fix: CHECK_FORM,
    deliver: (make) =>
      make.delivery(make.event(), {
        signature: (right) => `sha256=${right.slice('sha256='.length).toUpperCase()}`,
        pipe: ' | tr a-f A-F',
      }),
    judge: (answer) =>
      isSuccess(answer)
        ? toVerdict('pass', answer, '; upper case is taken')
        : {
            ...shouldBeRefused(answer),
            ...(answer.status === 401 && toVerdict('info', answer, '; upper case is refused')),
          },
  },
]

import { MISSING_SECRETS } from '../../wire/signature-mistakes.ts'
import type { Case, Maker, Scene, SingleCase, TestDelivery, Verdict } from '../case.ts'
import { FORGED, signWith } from '../maker.ts'
import { isSuccess, MUST_BE_REFUSED, mustBeRefused, mustBeRefusedAnyhow, notAccepted, toVerdict } from '../verdict.ts'
import { judgeAll, judgeEach, listTypes, narrow, UNKNOWN_TYPES } from '../work.ts'

const WHY = 'Anyone who knows the URL can send events that the service never sent.'
const FIX = 'Compute HMAC-SHA256 over the raw bytes with the secret, and answer 401 unless the header is its digest.'
const DECODED =
  'A receiver that accepts this decodes the body to text before computing the digest, so bytes that were not signed pass.'
const BYTES = 'Keep the body as bytes until its signature is verified.'

const forgeries: readonly (Pick<SingleCase, 'id' | 'sends' | 'deliver'> & Partial<SingleCase>)[] = [
  {
    id: 'signature-missing',
    sends: 'An event without X-Service-Signature.',
    fix: 'Refuse a request without a signature before doing anything else with it.',
    deliver: (make) => make.delivery(make.event(), { signature: () => undefined }),
  },
  {
    id: 'signature-bit-flipped',
    sends: 'An event with one bit changed after it was signed.',
    deliver: (make) => {
      const event = make.event()
      const { body } = make.delivery(event)
      const bytes = Uint8Array.from(body)
      // Changes the last letter of the last value, so that the body is still JSON and still an event.
      const at = Buffer.from(body).lastIndexOf('"') - 1
      bytes[at] = (bytes[at] ?? 0) ^ 1
      return make.delivery(body, { bytes })
    },
  },
  {
    id: 'signature-other-secret',
    sends: 'An event signed with another secret.',
    deliver: (make) => signWith(make, 'another secret'),
  },
  {
    id: 'signature-text',
    sends: 'An event with a wrong signature and the content type "text/plain".',
    why: `${WHY} They choose the content type as well.`,
    fix: 'Check the signature of every body, whatever its content type.',
    deliver: (make) => make.delivery(make.event(), { ...FORGED, contentType: 'text/plain' }),
  },
  {
    id: 'signature-chunked',
    sends: 'An event with a wrong signature, in chunked encoding and without a declared length.',
    why: `${WHY} They choose the encoding as well.`,
    fix: 'Check the signature of every body, however it is sent.',
    deliver: (make) => make.delivery(make.event(), { ...FORGED, isChunked: true }),
  },
  {
    id: 'signature-reserialised',
    sends: 'An event with the signature of the same JSON, parsed and serialized again without spaces.',
    why: 'A receiver that accepts this computes the digest over the body it parsed and serialized again, and refuses genuine deliveries whose JSON is formatted differently.',
    fix: 'Read the raw bytes before any JSON parser does, and compute the digest over those.',
    deliver: (make) => {
      const event = make.event()
      const { signatures } = make.delivery(JSON.stringify(event))
      return make.delivery(event, { signature: () => signatures })
    },
  },
  {
    id: 'signature-replaced-byte',
    sends: 'An event signed with U+FFFD in it, and sent with an invalid byte (0xFF) in its place.',
    why: 'A receiver that accepts this decodes the body as UTF-8, which turns any invalid byte into U+FFFD, and computes the digest over that text, encoded again. Anyone who has a delivery with U+FFFD in it can then replace the character with any invalid bytes, and the signature still holds; and a delivery that does hold invalid bytes, signed as they are, is refused.',
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
    sends: 'An event with a byte order mark added in front after it was signed.',
    why: DECODED,
    fix: BYTES,
    deliver: (make) => {
      const { body } = make.delivery(make.event())
      return make.delivery(body, { bytes: Buffer.concat([Buffer.of(0xef, 0xbb, 0xbf), body]) })
    },
  },
]

const METHODS = ['PUT', 'PATCH', 'DELETE'] as const

/** Accounts that no receiver knows; the second is the name of a property that every JavaScript object has. */
const UNKNOWN = ['check-unheard-of', 'constructor']

/** Types by which services try a URL when it is registered. */
const TRIALS = [
  ...['ping', 'test', 'webhook.test', 'webhook.ping', 'test.event', 'test.ping', 'health', 'health.check', 'verify'],
  ...['verification', 'url_verification', 'webhook.verify', 'endpoint.verification', 'challenge', 'handshake', 'setup'],
]
const [NO_TYPE, UNSIGNED] = ['without a type', ' without a signature']
/** Fields by which an event may say that it is a test. */
const TEST = {
  test: true,
  testMode: true,
  isTest: true,
  livemode: false,
  debug: true,
  dryRun: true,
  environment: 'test',
}
const MARKED = `marked by "test": true`

const refuseAll = (scene: Scene, deliveries: Parameters<typeof judgeEach>[1]) =>
  judgeEach(scene, deliveries, mustBeRefused)

const MISSING =
  'an empty secret, with words for a missing one, such as "undefined" and "None", and with words of examples, such as "changeme", "secret" and "test"'
const REFUSED = '401 or another 4xx to each. Never 2xx, never 5xx.'

/** Makes events signed with each of these words, without the secret of the receiver, which may be one of them. */
const withoutSecret = ({ make, secret }: Scene, changes: Readonly<Record<string, unknown>> = {}) =>
  MISSING_SECRETS.filter((key) => !Buffer.from(key).equals(secret)).map(
    (key) => [`signed with "${key}"`, signWith(make, key, make.event(changes))] as const,
  )

/** Sends a genuine delivery and then a forgery, and passes if that is refused. */
const afterGenuine =
  (forge: (make: Maker, genuine: TestDelivery) => TestDelivery) =>
  async ({ make, send }: Scene): Promise<Verdict> => {
    const genuine = make.delivery(make.event())
    const first = await send(genuine)
    return isSuccess(first) ? mustBeRefused(await send(forge(make, genuine))) : notAccepted(first)
  }

export const signature: readonly Case[] = [
  ...forgeries.map((forgery): Case => ({ ...MUST_BE_REFUSED, why: WHY, fix: FIX, ...forgery })),
  {
    id: 'signature-put',
    sends: `${METHODS.join(', ')} requests with an event and a wrong signature.`,
    expects: 'A 4xx to each, mostly 405 or 401, or 501. Never 2xx, never another 5xx.',
    why: `${WHY} They choose the method as well, and a check that is registered for POST does not run for another one.`,
    fix: 'Answer 405 to any method except POST.',
    run: (scene) => {
      const { make } = scene
      const deliveries = METHODS.map((method) => [method, make.delivery(make.event(), { ...FORGED, method })] as const)
      // Some servers, such as that of Python, answer 501 to a method without a handler.
      return judgeEach(scene, deliveries, (answer) =>
        answer.status === 501 ? toVerdict('pass', answer) : mustBeRefusedAnyhow(answer),
      )
    },
  },
  {
    id: 'signature-no-secret',
    sends: `Events that are signed with ${MISSING}.`,
    expects: REFUSED,
    why: 'Anyone can sign with these. Code such as `process.env.WEBHOOK_SECRET ?? "dev-secret"` runs in production with the second one. A second secret, such as the old one during a rotation, turns into one of them if its environment variable is not set.',
    fix: 'Leave out secrets that are not set, and refuse empty ones when the receiver starts.',
    run: (scene) => refuseAll(scene, withoutSecret(scene)),
  },
  {
    id: 'signature-one-digit',
    sends: 'Two events with the right signature except for one digit: the first in one, the last in the other.',
    expects: REFUSED,
    why: 'A receiver that compares only a part of the digest, or reads it as a number, which keeps some 13 of 64 digits, lets a sender guess the rest.',
    fix: FIX,
    run: (scene) => {
      const { make } = scene
      const withOther = (at: number) =>
        make.delivery(make.event(), {
          signature: (right) => `${right.slice(0, at)}${right[at] === '0' ? '1' : '0'}${right.slice(at + 1)}`,
        })
      return refuseAll(scene, [
        ['with another first digit', withOther('sha256='.length)],
        ['with another last digit', withOther('sha256='.length + 63)],
      ])
    },
  },
  {
    id: 'signature-of-duplicate',
    sends: 'A genuine event, and then the same one with a wrong signature.',
    expects: '2xx to the first; 401 or another 4xx to the second.',
    why: 'A receiver that looks for duplicates before it checks the signature tells anyone which events it has received.',
    fix: 'Check the signature first, and look for duplicates after that.',
    run: afterGenuine((make, { body }) => make.delivery(body, FORGED)),
  },
  {
    id: 'signature-remembered',
    sends: 'A genuine event, and then another one with its signature.',
    expects: '2xx to the first; 401 or another 4xx to the second.',
    why: 'A signature that was right once proves nothing about other bytes. Anyone who has seen one delivery could send any event.',
    fix: 'Compute the digest of every body. Detect duplicates by the id of the event, after verifying the signature.',
    run: afterGenuine((make, { signatures }) => make.delivery(make.event(), { signature: () => signatures })),
  },
  {
    id: 'signature-other-types',
    sends:
      'Events with a wrong signature, and without any: of each type that a check sends, of types such as "ping" and "webhook.test", by which other services try a URL, and of none; and a plain one with fields that mark it as a test, such as "test": true.',
    expects: REFUSED,
    why: `${WHY} A check that each route or type repeats is forgotten for the next one. The service sends no events to try a URL, and anyone can call or mark an event so.`,
    fix: 'Check the signature in one place, before reading the type, and make no exception.',
    run: (scene) => {
      const { make, send } = narrow(scene)
      const types = [...listTypes(make, [...UNKNOWN_TYPES, ...TRIALS]), NO_TYPE, MARKED]
      const names = types.flatMap((type) => [type, `${type}${UNSIGNED}`])
      return judgeAll(names, async (name) => {
        const type = name.replace(UNSIGNED, '')
        const marks = type === MARKED ? TEST : { type: type === NO_TYPE ? undefined : type }
        const event = make.event({ challenge: 'check', ...marks })
        const changes = name === type ? FORGED : { signature: () => undefined }
        return mustBeRefused(await send(make.delivery(event, changes)))
      })
    },
  },
  {
    id: 'signature-unknown-account',
    sends: `Events of accounts that the receiver cannot know: with a wrong signature, and signed with ${MISSING}.`,
    expects: REFUSED,
    why: `${WHY} A receiver that looks up the secret by the account finds none for an unknown account: the result must not be used as a key and must not cause an error.`,
    fix: 'Answer 401 if the account has no secret, before computing anything. In JavaScript, look it up in a Map: every object has a "constructor".',
    run: (scene) => {
      const { make } = scene
      const forged = UNKNOWN.map(
        (accountKey) => [`of "${accountKey}"`, make.delivery(make.event({ accountKey }), FORGED)] as const,
      )
      return refuseAll(scene, [...forged, ...withoutSecret(scene, { accountKey: UNKNOWN[0] })])
    },
  },
  {
    id: 'signature-null',
    ...MUST_BE_REFUSED,
    sends: 'The JSON value null with a wrong signature.',
    why: 'Code that reads a field of the body before it checks the signature throws on null, and anyone can send it. In some servers the error ends the process.',
    fix: 'Check the signature of the bytes first. If the secret depends on the account named in the body, first check that the JSON is an object.',
    deliver: (make) => make.delivery('null', FORGED),
  },
]

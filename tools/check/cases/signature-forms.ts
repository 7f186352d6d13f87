import { createHmac } from 'node:crypto'
import type { Case, DeliveryChanges, Maker, SingleCase, TestDelivery } from '../case.ts'
import { WRONG_SIGNATURE } from '../maker.ts'
import { isSuccess, MUST_BE_REFUSED, mustBeRefused, SHOULD_BE_REFUSED, toVerdict } from '../verdict.ts'
import { judgeEach } from '../work.ts'

const WHY =
  'Anyone can send this. Code that compares a header without checking its form can find a match, throw, or end the process.'
const FIX =
  'Accept exactly one header of "sha256=" and 64 hexadecimal digits, answer 401 to anything else, and only then compare the bytes of the two digests: timingSafeEqual throws if their lengths differ.'
const TWO =
  'The service sends one. If two parts of a system read different headers, they disagree on what was signed. A receiver that accepts any right one out of several lets a sender try many at a time.'
const ONE =
  'Read all values of the header, and answer 401 unless there is exactly one: most frameworks return the first, the last, or both with a comma between them.'

/** Delivers a plain event with another signature. */
const signed =
  (signature: NonNullable<DeliveryChanges['signature']>) =>
  (make: Maker): TestDelivery =>
    make.delivery(make.event(), { signature })

const malformed: readonly (Pick<SingleCase, 'id' | 'sends' | 'deliver'> & Partial<SingleCase>)[] = [
  {
    id: 'signature-sha1',
    sends: 'An event with "sha1=" and an HMAC-SHA1 of the right secret.',
    why: 'The service never signs with SHA-1. A second algorithm is a second place for mistakes.',
    deliver: signed((_right, body, secret) => `sha1=${createHmac('sha1', secret).update(body).digest('hex')}`),
  },
  {
    id: 'signature-empty',
    sends: 'An event with an empty X-Service-Signature.',
    deliver: signed(() => ''),
  },
  {
    id: 'signature-short',
    sends: 'An event with the right signature without its last two digits.',
    deliver: signed((right) => right.slice(0, -2)),
  },
  {
    id: 'signature-non-ascii',
    sends: 'An event with the right signature, its last digit replaced by "é".',
    deliver: signed((right) => `${right.slice(0, -1)}é`),
  },
  {
    id: 'signature-tail',
    sends: 'An event with the right signature and "zz" behind it.',
    why: 'Many hexadecimal decoders stop silently at the first character that is not a digit.',
    deliver: signed((right) => `${right}zz`),
  },
  {
    id: 'signature-list',
    sends: 'An event with one header that holds the right signature, a comma and another form of it: "sha256=…,v1=…".',
    why: 'The service sends one value. A receiver that accepts any right one out of several lets a sender try many at a time.',
    deliver: signed((right) => `${right},v1=${right.slice('sha256='.length)}`),
  },
  {
    id: 'signature-right-first',
    sends: 'An event with two X-Service-Signature headers, of which the first is right.',
    why: TWO,
    fix: ONE,
    deliver: signed((right) => [right, WRONG_SIGNATURE]),
  },
  {
    id: 'signature-right-last',
    sends: 'An event with two X-Service-Signature headers, of which the last is right.',
    why: TWO,
    fix: ONE,
    deliver: signed((right) => [WRONG_SIGNATURE, right]),
  },
]

/** Texts that match any digest in code that takes the header for a pattern: a regular expression, LIKE in SQL, or a glob. */
const PATTERNS = ['.*', '%', '*'].flatMap((any) => [any, `sha256=${any}`])
const SIGNS = ['.', '_', '?'].map((one) => `sha256=${one.repeat(64)}`)

export const signatureForms: readonly Case[] = [
  ...malformed.map((form): Case => ({ ...MUST_BE_REFUSED, why: WHY, fix: FIX, ...form })),
  {
    id: 'signature-pattern',
    sends: 'Events whose signature is a pattern that matches every digest, such as ".*" and "sha256=%".',
    expects: '401 or another 4xx to each. Never 2xx, never 5xx.',
    why: WHY,
    fix: FIX,
    run: (scene) => {
      const { make } = scene
      const deliveries = [...PATTERNS, ...SIGNS].map(
        (pattern) => [pattern, make.delivery(make.event(), { signature: () => pattern })] as const,
      )
      return judgeEach(scene, deliveries, mustBeRefused)
    },
  },
  {
    id: 'signature-no-prefix',
    ...SHOULD_BE_REFUSED,
    sends: 'An event with the right digest, without "sha256=".',
    why: 'Only the holder of the secret can make it, but a receiver that accepts two forms has two forms to keep right.',
    fix: FIX,
    deliver: signed((right) => right.slice('sha256='.length)),
  },
  {
    id: 'signature-other-prefix',
    ...SHOULD_BE_REFUSED,
    sends: 'An event with the right digest after "md5=".',
    why: 'Only the holder of the secret can make it, but a receiver that ignores the prefix will accept the digest of a weaker algorithm as soon as its code knows one.',
    fix: FIX,
    deliver: signed((right) => right.replace('sha256', 'md5')),
  },
  {
    id: 'signature-hex-case',
    sends: 'An event with the right signature, its digits in upper case.',
    expects: 'Anything but a 5xx; the report says if upper case is accepted.',
    why: 'The service writes lower case today. A receiver that compares bytes instead of text accepts both.',
    fix: FIX,
    deliver: signed((right) => `sha256=${right.slice('sha256='.length).toUpperCase()}`),
    judge: (answer) => {
      if (isSuccess(answer)) return toVerdict('pass', answer, { note: 'upper case is taken' })
      return answer.status === 401
        ? toVerdict('info', answer, { note: 'upper case is refused' })
        : mustBeRefused(answer)
    },
  },
]

import type { Case, SingleCase } from '../case.ts'
import { WRONG_SIGNATURE } from '../maker.ts'
import { isSuccess, mustBeRefused, shouldBeRefused, toVerdict } from '../verdict.ts'

const WHY =
  'Anyone can send this. Code that compares a header without checking its form can find a match, throw, or end the process.'
const FIX =
  'Accept exactly one header of "sha256=" and 64 hexadecimal digits, answer 401 to anything else, and only then compare the bytes of the two digests: timingSafeEqual throws if their lengths differ.'
const TWO =
  'The service sends one. If two parts of a system read different headers, they disagree on what was signed. A receiver that accepts any right one out of several lets a sender try many at a time.'
const ONE =
  'Read all values of the header, and answer 401 unless there is exactly one: most frameworks return the first, the last, or both with a comma between them.'

const malformed: readonly (Pick<SingleCase, 'id' | 'sends' | 'deliver'> & Partial<SingleCase>)[] = [
  {
    id: 'signature-sha1',
    sends: 'An event with "sha1=" and an HMAC-SHA1 of the right secret.',
    why: 'The service never signs with SHA-1. A second algorithm is a second place for mistakes.',
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
    sends: 'An event with the right signature without its last two digits.',
    deliver: (make) => make.delivery(make.event(), { signature: (right) => right.slice(0, -2), pipe: ' | cut -c1-69' }),
  },
  {
    id: 'signature-long',
    sends: 'An event with the right signature and two more digits.',
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
    id: 'signature-tail',
    sends: 'An event with the right signature and "zz" behind it.',
    why: 'Many hexadecimal decoders stop silently at the first character that is not a digit.',
    deliver: (make) => make.delivery(make.event(), { signature: (right) => `${right}zz`, pipe: ' | sed s/$/zz/' }),
  },
  {
    id: 'signature-list',
    sends: 'An event with one header that holds the right signature, a comma and another form of it: "sha256=…,v1=…".',
    why: 'The service sends one value. A receiver that accepts any right one out of several lets a sender try many at a time.',
    deliver: (make) =>
      make.delivery(make.event(), { signature: (right) => `${right},v1=${right.slice('sha256='.length)}` }),
  },
  {
    id: 'signature-two-headers',
    sends: 'An event with two X-Service-Signature headers, both wrong.',
    deliver: (make) => make.delivery(make.event(), { signature: () => [WRONG_SIGNATURE, `sha256=${'1'.repeat(64)}`] }),
  },
  {
    id: 'signature-right-first',
    sends: 'An event with two X-Service-Signature headers, of which the first is right.',
    why: TWO,
    fix: ONE,
    deliver: (make) => make.delivery(make.event(), { signature: (right) => [right, WRONG_SIGNATURE] }),
  },
  {
    id: 'signature-right-last',
    sends: 'An event with two X-Service-Signature headers, of which the last is right.',
    why: TWO,
    fix: ONE,
    deliver: (make) => make.delivery(make.event(), { signature: (right) => [WRONG_SIGNATURE, right] }),
  },
]

/** Checks that the receiver validates the form of the header before it compares digests. */
export const signatureForms: readonly Case[] = [
  ...malformed.map(
    (form): Case => ({
      level: 'fail',
      expects: '401; another 4xx passes with a note. Never 2xx, never 5xx.',
      why: WHY,
      fix: FIX,
      judge: mustBeRefused,
      ...form,
    }),
  ),
  {
    id: 'signature-no-prefix',
    level: 'fail',
    sends: 'An event with the right digest, without "sha256=".',
    expects: '401; a warning if it is accepted. Never 5xx.',
    why: 'Only the holder of the secret can make it, but a receiver that accepts two forms has two forms to keep right.',
    fix: FIX,
    deliver: (make) =>
      make.delivery(make.event(), { signature: (right) => right.slice('sha256='.length), pipe: ' | cut -c8-' }),
    judge: shouldBeRefused,
  },
  {
    id: 'signature-other-prefix',
    level: 'fail',
    sends: 'An event with the right digest after "md5=".',
    expects: '401; a warning if it is accepted. Never 5xx.',
    why: 'Only the holder of the secret can make it, but a receiver that ignores the prefix will accept the digest of a weaker algorithm as soon as its code knows one.',
    fix: FIX,
    deliver: (make) =>
      make.delivery(make.event(), {
        signature: (right) => right.replace('sha256', 'md5'),
        pipe: ' | sed s/sha256/md5/',
      }),
    judge: shouldBeRefused,
  },
  {
    id: 'signature-hex-case',
    level: 'fail',
    sends: 'An event with the right signature, its digits in upper case.',
    expects: 'Anything but a 5xx; the report says if upper case is accepted.',
    why: 'The service writes lower case today. A receiver that compares bytes instead of text accepts both.',
    fix: FIX,
    deliver: (make) =>
      make.delivery(make.event(), {
        signature: (right) => `sha256=${right.slice('sha256='.length).toUpperCase()}`,
        pipe: ' | tr a-f A-F | sed s/shA/sha/',
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

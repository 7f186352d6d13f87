import { findHint } from '../../wire/find-hint.ts'
import type { LastResult } from '../shapes.ts'

/** What the code words of a receiver of this package mean. */
const MEANINGS: Readonly<Record<string, string>> = {
  handled: 'Every handler has done its work.',
  accepted: 'Stored durably in the inbox. Its handlers have not run yet.',
  duplicate: 'The event was handled before. No handler ran now.',
  ignored: 'No handler takes this type. Nothing was done.',
  busy: 'Another process is handling the event.',
  late: 'The handlers still run at the deadline. The next attempt finds the result.',
  closing: 'The receiver is shutting down.',
  overloaded: 'The receiver has too many events under way.',
  unauthorized: 'The signature was not accepted.',
  failed: 'A handler threw.',
  handler_failed: 'A handler threw.',
}

const HINTS: Readonly<Record<string, string>> = {
  '400':
    '400: the signature holds, but the receiver cannot read the body as an event. Was it edited? Its log says what is wrong.',
  '409': '409: another process is handling this event. The next attempt finds the result.',
  '422':
    '422: the receiver cannot use this record: its schema refuses it, or it finds the event too old. Its log names the field. Edit the body and resend it.',
  '500': '500: the receiver threw while it handled the event. Its log has the error.',
  '503': '503: the receiver puts the event off: it is busy, closing, or its store does not answer. Its log says which.',
}

const WORD_HINTS: Readonly<Record<string, string>> = {
  no_handlers: '500: no handler is registered in the receiver. Is the module that registers them loaded?',
  body_consumed:
    '500: a body parser ran before the receiver and took the bytes. Mount the receiver above the app’s JSON parser, or have the framework leave the body alone.',
  late: '503: the handlers were still running at the deadline. The work goes on; the next attempt finds the result.',
  invalid_record: HINTS['422'] ?? '',
}

/** The meaning of a code word; undefined for one of another receiver. */
export function explainCode(code: string | null): string | undefined {
  return code !== null && Object.hasOwn(MEANINGS, code) ? MEANINGS[code] : undefined
}

/** Advice on an attempt that was not acknowledged. */
export function adviseOn({ result, code }: Pick<LastResult, 'result' | 'code'>, url: string): string | undefined {
  if (code !== null && Object.hasOwn(WORD_HINTS, code)) return WORD_HINTS[code]
  if (Object.hasOwn(HINTS, result)) return HINTS[result]
  if (result === 'blocked-url') return 'blocked-url: the emulator delivers to loopback and public hosts only (A30).'
  if (result === 'paused') return 'paused: the webhook was paused, and the attempt counts as failed (A32).'
  return URL.canParse(url) ? findHint(result, new URL(url)) : undefined
}

/** The error of a try, without what its code says already: `DeadLetter: no such customer`. */
export function shortenError(error: string | null): string {
  return error?.replace(/^Handlers of ".*?" failed: .*?\. (?=\w+: )/, '') ?? ''
}

/** Ways in which a signature can be wrong, and valid first. */
export const SIGNINGS: readonly (readonly [string, string])[] = [
  ['valid', 'valid: signed again'],
  ['none', 'no header'],
  ['wrong', 'by another secret'],
  ['stale-bytes', 'of the bytes before the edit'],
  ['flip-bit', 'one bit of the body flipped after signing'],
  ['reserialised', 'of the same JSON, written otherwise'],
  ['no-prefix', 'digits without sha256='],
  ['sha1', 'HMAC-SHA1'],
  ['short', 'two digits short'],
  ['long', 'two digits too long'],
  ['non-hex', 'a digit that is none'],
  ['two-headers', 'two headers, the first right'],
]

/** A kind of signature in words. */
export function nameSigning(signing: string): string {
  return SIGNINGS.find(([name]) => name === signing)?.[1] ?? signing
}

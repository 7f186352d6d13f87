import type { LastResult, Row } from '../../emulator/contract.ts'
import { findHint } from '../../wire/find-hint.ts'
import { SIGNINGS } from '../../wire/signings.ts'
import { isRefused } from '../model/outcome.ts'

/** Meanings of code words, and advice by code word, status or failure. */
const ADVICE: Readonly<Record<string, string>> = {
  handled: 'Every handler has finished.',
  accepted: 'Stored in an inbox, and not seen in the one shown here: it was handled before, or is in another one.',
  duplicate: 'The event was handled before, so no handler ran.',
  ignored: 'No handler is registered for this type. Once one is, try again.',
  '400':
    '400: the signature is valid, but the body is no event that the receiver can read. Its log says what is wrong.',
  '409': '409: another process is handling this event. The next attempt finds the result.',
  '422':
    '422: the schema refuses this record, or the event is too old. The receiver’s log says which. Edit the body and send it.',
  '500': '500: the receiver threw while it handled the event. The error is in its log.',
  handler_failed:
    '500: a handler threw. The error is in the receiver’s log, and here if that has the POSTERN_DEV of “postern dev”.',
  '503': '503: the receiver is busy or closing, or its store does not answer. Its log says which.',
  no_handlers: '500: the receiver has no handlers. Is the module that registers them loaded?',
  body_consumed:
    '500: a body parser ran before the receiver. Mount the receiver above it, or turn off the framework’s body parsing.',
  late: '503: the handlers were still running at the deadline. They continue, and the next attempt finds the result.',
  'blocked-url': 'blocked-url: the emulator delivers to loopback and public hosts only (A30).',
  paused: 'paused: the webhook was paused, and the attempt counts as failed (A32).',
}

/** The meaning of the answer to a delivery, or advice on a failure. */
export function adviseOn(
  row: Row,
  url: string,
  settings?: { readonly deadlineMs: number; readonly signatureHeader: string },
): string | undefined {
  const { last, reason, inbox } = row
  if (last === null || inbox !== null) return undefined
  // An error that the receiver reports needs no guess.
  if (reason !== null && (reason.handlers.length > 0 || !reason.text.startsWith(last.result))) return undefined
  const { result, code } = last
  if (isRefused(row)) return 'The signature is wrong on purpose, and was refused.'
  const known = [code ?? '', result].find((word) => Object.hasOwn(ADVICE, word))
  // Neither does one whose answer says why it failed.
  if (known === result && /^\d/.test(result) && !NO_REASON.test(withoutAnswer(reason?.text ?? '', last)))
    return undefined
  if (known !== undefined) return ADVICE[known]
  return URL.canParse(url) ? findHint(result, new URL(url), settings?.deadlineMs, settings?.signatureHeader) : undefined
}

/** Texts of an answer that say no more than its status. */
const NO_REASON =
  /^(|bad request|conflict|unprocessable (entity|content)|internal server error|service unavailable)\.?$/i

/** The part of a reason that the answer before it does not say. */
export function withoutAnswer(text: string, last: LastResult | null): string {
  const [result = '', code = ''] = [last?.result, last?.code ?? '']
  if (!text.startsWith(result)) return text
  const rest = text.slice(result.length).replace(/^:? /, '')
  return rest === code ? '' : rest
}

/** Kinds of signatures: `valid`, and then those that are wrong in one way. */
export const SIGNING_OPTIONS: readonly (readonly [string, string])[] = Object.entries(SIGNINGS)

export function nameSigning(signing: string): string {
  return SIGNING_OPTIONS.find(([name]) => name === signing)?.[1] ?? signing
}

import { readAcceptedInto, withoutAnswer } from '../../wire/code-word.ts'
import { findHint } from '../../wire/find-hint.ts'
import type { Row } from '../contract.ts'
import type { Standing } from '../delivery.ts'
import type { EmulatorSettings } from '../options.ts'
import { isSamePlace, writePlace } from './inbox-place.ts'

const BUSY = 'Another process is handling this event. The next attempt finds the result.'

/** Meanings of code words, and advice by code word, status or failure. */
const ADVICE: Readonly<Record<string, string>> = {
  handled: 'Every handler has finished.',
  duplicate: 'The event was handled before, so no handler ran.',
  ignored: 'No handler for this type. Once there is one, try again.',
  '400':
    '400: the signature is valid, but the body is no event that the receiver can read. Its log says what is wrong.',
  '422':
    '422: the schema refuses this record, or the event is too old. The receiver’s log says which. Edit the body and send it.',
  '500': '500: the receiver threw while it handled the event. The error is in its log.',
  handler_failed:
    '500: a handler threw. The error is in the receiver’s log, and here if that has the POSTERN_DEV of “postern dev”.',
  '503': '503: the receiver is busy or closing, or its store does not answer. Its log says which.',
  no_handlers: '500: the receiver has no handlers. Is the module that registers them loaded?',
  body_consumed:
    '500: a body parser ran before the receiver. Mount the receiver above it, or turn off the framework’s body parsing.',
  '409': BUSY,
  busy: BUSY,
  late: '503: the handlers were still running at the deadline. They continue, and the next attempt finds the result.',
  'blocked-url': 'blocked-url: the emulator delivers to loopback and public hosts only (A30).',
  paused: 'paused: the webhook was paused, and the attempt counts as failed (A32).',
}

/** The meaning of the answer to a delivery, or advice on a failure. @param body the last answer */
export function adviseOn(
  row: Pick<Row, 'last' | 'reason' | 'inbox' | 'signing'>,
  url: string,
  settings: Pick<EmulatorSettings, 'deadlineMs' | 'signatureHeader' | 'inbox'>,
  body = '',
): string | undefined {
  const { last, reason, inbox, signing } = row
  if (inbox !== null) return adviseOnStanding(inbox)
  // An error that the receiver reports needs no guess.
  if (last === null || (reason !== null && (reason.handlers.length > 0 || !reason.text.startsWith(last.result))))
    return undefined
  const { result, code } = last
  if (signing !== 'valid' && /^4\d\d$/.test(result)) return 'The signature is wrong on purpose, and was refused.'
  if (code === 'accepted') return adviseOnAccepted(body, settings.inbox?.commandOptions)
  const known = [code ?? '', result].find((word) => Object.hasOwn(ADVICE, word))
  // Neither does one whose answer says why it failed.
  if (known === result && /^\d/.test(result) && !NO_REASON.test(withoutAnswer(reason?.text ?? '', last)))
    return undefined
  if (known !== undefined) return ADVICE[known]
  return URL.canParse(url) ? findHint(result, new URL(url), settings.deadlineMs, settings.signatureHeader) : undefined
}

/** Texts of an answer that say no more than its status. */
const NO_REASON =
  /^(|bad request|conflict|unprocessable (entity|content)|internal server error|service unavailable)\.?$/i

export function adviseOnStanding({ state, putOff, reason, isOverdue }: Standing): string | undefined {
  if (isOverdue) return 'It is due, and no worker has taken it. Is a worker running? receiver.work() starts one.'
  if (state !== 'left') return putOff ?? undefined
  if ((reason ?? putOff) !== null) return 'It was dropped, or replayed elsewhere.'
  return 'It left the inbox while the emulator did not run: it was handled or dropped.'
}

/** @param shown place of the inbox that is shown */
function adviseOnAccepted(body: string, shown: readonly string[] | undefined): string | undefined {
  const into = readAcceptedInto(body)
  const where = 'Accepted into an inbox that is not shown here'
  if (into === undefined && shown === undefined) return `${where}: start with --inbox. ${WHICH}`
  if (into === undefined) return `Accepted into an inbox, and not seen in the one shown here. ${WHICH}`
  if (shown === undefined) return `${where}: start with --inbox ${writePlace(into.place)}`
  const isSame = isSamePlace(into.place, shown)
  if (isSame === true) return undefined
  if (isSame === false) return `${where}: start with --inbox ${writePlace(into.place)}, and not ${writePlace(shown)}`
  return `Accepted into ${writePlace(into.place)}, and not seen in the inbox shown here.`
}

const WHICH = 'An app with the POSTERN_DEV of “postern dev” says which it is.'

import { showDuration } from '../host/duration.ts'
import type { LogFields, Logger } from '../host/logger.ts'
import { HandlerError, PosternError } from '../protocol/errors.ts'
import { thrownIn } from '../protocol/failure.ts'
import type { Outcome } from '../protocol/outcome.ts'
import { explainReturned } from '../protocol/promises.ts'
import { quote, toShellWord } from '../protocol/show.ts'
import type { InboxItem, Settlement, TakenItem } from './inbox.ts'
import type { Tried } from './settle.ts'
import { isHasty } from './steer.ts'

/** The one line about a try: which event, what, why, and what happens next. */
export interface TryLine {
  readonly level: keyof Logger
  readonly message: string
  readonly fields: LogFields
  /** Outcome of the try, for the fields about a refused record. */
  readonly outcome?: Outcome | undefined
  /** Error of a dead letter, which has the same message. */
  readonly deadLetter?: PosternError
}

/** Settings that the lines name. */
interface Named {
  /** Number of failed tries after which an item becomes a dead letter. */
  readonly attempts: number
  /** Options with which `postern inbox` opens the inbox. */
  readonly commandOptions?: readonly string[] | undefined
}

/** Returns the line about a try that is settled, or is about to be; undefined if the event was handled and nothing else happened. */
export function toTryLine(
  item: TakenItem,
  tried: Tried | undefined,
  settlement: Settlement,
  named: Named,
): TryLine | undefined {
  const { outcome, errors = [] } = tried ?? {}
  const toLine = (level: keyof Logger, code: string, text: string): TryLine => {
    const err = errors.length === 0 ? undefined : errorOf(tried)
    const message = [nameOf(item) + text, ...whyOf(tried)].join(' ')
    return { level, message, fields: { code, ...aboutOf(item), ...(err && { err }) }, outcome }
  }
  if (settlement.next === 'bury') return toDeadLetter(item, tried, settlement.tried, named)
  if (settlement.next === 'remove') return errors[0] && toLine('error', errors[0].code, ' was handled.')
  if (settlement.tried === undefined) return undefined
  const { code } = settlement.tried
  const next = showDuration(settlement.afterMs)
  const failure = `: try ${item.failures + 1} of ${named.attempts} failed, next in ${next} (${code}).`
  if (settlement.isFailure) return toLine('warn', code, failure)
  if (errors[0] !== undefined && item.signal.aborted) return toLine('warn', errors[0].code, ':')
  const later = `next try in ${next}; this one does not count (${code}).`
  if (outcome?.outcome !== 'failed') return toLine('debug', code, `: ${later}`)
  if (errors.length > 0) return toLine('error', code, `: not finished here, ${later}`)
  const thrown = thrownIn(outcome.error)
  const hasty = thrown.some((error) => isHasty(Object(error).delayMs)) ? ' RetryLater takes milliseconds.' : ''
  const mistake = explainReturned(thrown) + hasty
  const putOff = `: put off by RetryLater, next try in ${next}; this one does not count.${mistake}`
  return toLine(mistake === '' ? 'info' : 'warn', 'retry_later', putOff)
}

function toDeadLetter(
  item: TakenItem,
  tried: Tried | undefined,
  { n, code, error: text }: Extract<Settlement, { readonly next: 'bury' }>['tried'],
  { commandOptions = [] }: Named,
): TryLine {
  // The sender chooses the id of the event, and the user may copy the line into a shell.
  const args = [item.key, ...commandOptions].map(toShellWord).join(' ')
  const error = errorOf(tried)
  const names = error instanceof HandlerError ? error.handlers.join(', ') : ''
  const returned = error === undefined ? '' : explainReturned(thrownIn(error))
  const why: Readonly<Record<string, string>> = {
    crashed: `${text}.`,
    dead_letter: `DeadLetter was thrown by: ${names}.${returned}`,
    expired: `${error === undefined ? text : `RetryLater was thrown by: ${names}`}.${returned} It waits longer than the store keeps finish marks (retentionMs).`,
  }
  const message = [
    `${nameOf(item)} is a dead letter after ${n} ${n === 1 ? 'try' : 'tries'} (${code}).`,
    ...(why[code] === undefined ? whyOf(tried) : [why[code]]),
    `To look at it: npx postern inbox show ${args}. To try again: npx postern inbox replay ${args}.`,
  ].join(' ')
  const cause = error?.cause // thrown by the app; the message has the rest
  const deadLetter = new PosternError('dead_letter', message, cause === undefined ? {} : { cause })
  const fields = { code: 'dead_letter', ...aboutOf(item), err: deadLetter }
  return { level: 'error', message, fields, outcome: tried?.outcome, deadLetter }
}

function nameOf({ type, id }: InboxItem): string {
  return `${quote(type)} ${quote(id)}`
}

function aboutOf({ id, type, accountKey, source }: InboxItem): LogFields {
  return { id, type, accountKey, source }
}

function errorOf(tried: Tried | undefined): PosternError | undefined {
  return tried !== undefined && 'error' in tried.outcome ? tried.outcome.error : tried?.errors?.at(-1)
}

/** Returns what went wrong, each thing once. */
function whyOf(tried: Tried | undefined): readonly string[] {
  return [...new Set((tried?.errors ?? []).map(({ message }) => message))]
}

import type { Outcome, Reply } from './outcome.ts'
import { isError, show } from './show.ts'

/** Failure of an event, for the owner of the app. */
interface Failure {
  /** Names of the handlers that failed. */
  readonly handlers: readonly string[]
  /** The errors with their stacks and causes. */
  readonly text: string
}

const MOST_CAUSES = 5
/** Limit of the text, so that the emulator keeps the whole answer. */
const LONGEST_TEXT = 8_192

/** Receiver, and the options with which `postern inbox` opens its inbox. */
interface Accepting {
  readonly name: string
  readonly inbox?: { readonly commandOptions?: readonly string[] | undefined } | undefined
}

/**
 * Adds why the event of a delivery failed, or which inbox has accepted it. Only for `postern dev`, and only if the signature held: a sender
 * without a secret learns nothing more.
 */
export function withDetails(reply: Reply, outcome: Outcome, { name, inbox }: Accepting): Reply {
  if (outcome.id === undefined) return reply
  const details =
    outcome.outcome === 'accepted'
      ? { inbox: { name, place: inbox?.commandOptions ?? [] } }
      : { error: failureOf(outcome) }
  const added = JSON.stringify(details).slice(1)
  return added === '}' ? reply : { ...reply, body: `${reply.body.slice(0, -1)},${added}` }
}

/** Describes the failure of an outcome; undefined if it has none. */
function failureOf(outcome: Outcome): Failure | undefined {
  const toFailure = (text: string, handlers: readonly string[] = []) => ({
    handlers,
    text: text.slice(0, LONGEST_TEXT),
  })
  if (outcome.outcome === 'rejected') return toFailure(explainRejection(outcome))
  if (!('error' in outcome)) return undefined
  const { error, code } = outcome
  const thrown = code === 'handler_failed' ? thrownIn(error) : [error]
  return toFailure(thrown.map(writeStack).join('\n\n'), Object(error).handlers)
}

/** Writes the issues of a refusal, each on a line, and then its reason. */
export function explainRejection({ reason, issues }: Extract<Outcome, { readonly outcome: 'rejected' }>): string {
  return [...issues.map(({ path, message }) => [path, message].filter(Boolean).join(': ')), reason].join('\n')
}

/** Returns the errors that the handlers threw: the cause of a `HandlerError`, or the errors of its `AggregateError`. */
export function thrownIn({ cause }: Error): readonly unknown[] {
  if (cause === undefined) return []
  const { name, errors } = Object(cause)
  return name === 'AggregateError' && Array.isArray(errors) ? errors : [cause]
}

/** Writes the name and the message of an error, which need not be one. */
export function nameError(thrown: unknown): string {
  return isError(thrown) ? `${thrown.name}: ${thrown.message}` : show(thrown)
}

/** Writes an error with its stack and its causes. Its other properties may contain secrets, such as those of a request. */
export function writeStack(thrown: unknown): string {
  try {
    return writeCauses(thrown)
  } catch {
    return nameError(thrown) // the function of a library that writes stacks may throw
  }
}

function writeCauses(thrown: unknown): string {
  const parts: string[] = []
  for (let each = thrown; each !== undefined && parts.length < MOST_CAUSES; each = Object(each).cause) {
    const stack = String(Object(each).stack ?? '')
    const at = stack.indexOf('\n    at ') // the text before it has the message that the error was created with
    parts.push(nameError(each) + (at < 0 ? '' : stack.slice(at)))
  }
  return parts.join('\nCaused by: ')
}

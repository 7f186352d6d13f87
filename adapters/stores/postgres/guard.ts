import { PosternError } from '../../../src/index.ts'
import type { PgClient } from './pool.ts'

/** A statement that begins or ends a transaction. Savepoints do not count. */
const ENDS_IT =
  /^\s*(?:begin|start\s+transaction|commit|end|abort|rollback(?!\s+(?:(?:work|transaction)\s+)?to\b)|prepare\s+transaction)\b/i
/** One-line comments, and the openings of other comments, of texts (escaped, plain, between dollars) and names. */
const OPENINGS =
  /--[^\n\r]*|\/\*|(?<![\w$\u0080-\uffff])(?:[eE]'|\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$)|'|"/g
/** A statement whose body may contain others, each with its own semicolon. */
const MAY_HAVE_BODY = /^\s*create\s+(?:or\s+replace\s+)?(?:function|procedure)\b/i
const ENDED_BY_END = /\b(?:(begin\s+atomic|case)|end)\b/gi

/** The client that `work` gets. */
export interface GuardedClient<C> {
  readonly client: C
  /** Makes the client refuse every query from now on: another handler may have its connection by then. */
  close(): void
}

/**
 * Wraps the client and replaces two methods. `query` refuses statements that begin or end a transaction, and every statement after the
 * transaction has ended: a query that was not awaited would run outside it, or within another handler's. `release` does nothing, since
 * libraries that get the client as a pool of one call it.
 */
export function guardClient<C extends PgClient>(inner: C): GuardedClient<C> {
  let isOpen = true
  const query = (...given: readonly unknown[]): unknown => {
    if (!isOpen) throw misuse('A query was sent after its transaction had ended. Await every query within the work.')
    if (endsTransaction(textOf(given[0])))
      throw misuse(
        'The work began or ended a transaction itself: its writes would be committed without the finish mark. It is in a transaction already. For a part that may fail, use SAVEPOINT.',
      )
    return Reflect.apply(inner.query, inner, given)
  }
  const client = Object.create(inner, { query: { value: query }, release: { value: () => {} } }) as C // C with two methods replaced
  return {
    client,
    close: () => {
      isOpen = false
    },
  }
}

function textOf(query: unknown): string {
  if (typeof query === 'string') return query
  const text = typeof query === 'object' && query !== null && 'text' in query ? query.text : ''
  return typeof text === 'string' ? text : ''
}

/** Returns whether a statement of the text begins or ends a transaction. The END of a function's body does not count. */
function endsTransaction(text: string): boolean {
  let depth = 0
  for (const statement of statementsOf(text)) {
    if (depth === 0 && ENDS_IT.test(statement)) return true
    if (depth > 0 || MAY_HAVE_BODY.test(statement))
      for (const [, isBegun] of statement.matchAll(ENDED_BY_END)) depth = Math.max(depth + (isBegun ? 1 : -1), 0)
  }
  return false
}

/** Splits at semicolons, without comments and quotes. A pattern for whole quotes would overflow the stack. */
function statementsOf(text: string): readonly string[] {
  const parts: string[] = []
  let at = 0
  OPENINGS.lastIndex = 0
  for (let found = OPENINGS.exec(text); found !== null; found = OPENINGS.exec(text)) {
    parts.push(text.slice(at, found.index))
    at = findEnd(text, found[0], OPENINGS.lastIndex)
    OPENINGS.lastIndex = at
  }
  parts.push(text.slice(at))
  return parts.join(' ').split(';')
}

/** Returns the position behind a comment or quote. A doubled quote closes one text and opens the next. */
function findEnd(text: string, opening: string, start: number): number {
  if (opening.startsWith('--')) return start
  if (opening === '/*') return findStop(text, start, /\/\*|\*\//g)
  if (/^e/i.test(opening)) return findStop(text, start, /\\[\s\S]|''|'/g)
  const end = text.indexOf(opening, start)
  return end === -1 ? text.length : end + opening.length
}

/** The change of depth at a stop: comments can be nested. Stops that are not listed are part of the text. */
const DEPTHS: Readonly<Partial<Record<string, number>>> = { '/*': 1, '*/': -1, "'": -1 }

function findStop(text: string, start: number, stops: RegExp): number {
  stops.lastIndex = start
  let depth = 1
  for (let found = stops.exec(text); found !== null; found = stops.exec(text)) {
    depth += DEPTHS[found[0]] ?? 0
    if (depth === 0) return stops.lastIndex
  }
  return text.length
}

export function misuse(message: string, cause?: unknown): PosternError {
  return new PosternError('transaction_misused', message, cause === undefined ? {} : { cause })
}

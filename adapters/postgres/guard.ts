import { PosternError } from '../../src/index.ts'
import type { PgClient } from './pool.ts'

/** A statement that begins or ends a transaction. Savepoints do not. */
const ENDS_IT =
  /^\s*(?:begin|start\s+transaction|commit|end|abort|rollback(?!\s+(?:(?:work|transaction)\s+)?to\b)|prepare\s+transaction)\b/i
/** Comments and texts, in which nothing counts: those in which a backslash stands for something, others, names, texts between dollars. */
const QUOTED =
  /--[^\n\r]*|\/\*|\b[eE]'(?:[^'\\]|\\[\s\S]|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|(?<![\w$])\$([A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$[\s\S]*?\$\1\$/g

/** The client as `work` gets it. */
export interface GuardedClient<C> {
  readonly client: C
  /** From here on the client refuses every query: its connection may be somebody else's by then. */
  close(): void
}

/**
 * The client itself, in all but two methods. `query` refuses what would begin or end a transaction, and everything once the
 * transaction has ended: a query that nobody waited for would run outside it, or within another handler's. `release` does nothing,
 * since libraries that were given the client as a pool of one call it.
 */
export function guardClient<C extends PgClient>(inner: C): GuardedClient<C> {
  let isOpen = true
  const query = (...given: readonly unknown[]): unknown => {
    if (!isOpen) throw misuse('A query came after its transaction had ended. Await every query within the work.')
    if (statementsOf(textOf(given[0])).some((statement) => ENDS_IT.test(statement)))
      throw misuse(
        'The work began or ended a transaction itself: its writes would be committed without the finish mark. It is in a transaction already; for a part that may fail use SAVEPOINT.',
      )
    return Reflect.apply(inner.query, inner, given)
  }
  const client = Object.create(inner, { query: { value: query }, release: { value: () => {} } }) as C // C but for two methods
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

/** The statements of a text, with a blank for each comment and what stands in quotes. */
function statementsOf(text: string): readonly string[] {
  let plain = ''
  let at = 0
  QUOTED.lastIndex = 0
  for (let found = QUOTED.exec(text); found !== null; found = QUOTED.exec(text)) {
    plain += `${text.slice(at, found.index)} `
    if (found[0] === '/*') QUOTED.lastIndex = endOfComment(text, found.index)
    at = QUOTED.lastIndex
  }
  return (plain + text.slice(at)).split(';')
}

/** Comments of this kind may hold others. */
function endOfComment(text: string, start: number): number {
  const ends = /\/\*|\*\//g
  ends.lastIndex = start
  let depth = 0
  for (let found = ends.exec(text); found !== null; found = ends.exec(text)) {
    depth += found[0] === '/*' ? 1 : -1
    if (depth === 0) return ends.lastIndex
  }
  return text.length
}

export function misuse(message: string): PosternError {
  return new PosternError('transaction_misused', message)
}

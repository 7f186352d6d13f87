import { PosternError } from '../../src/index.ts'
import type { PgClient } from './pool.ts'

/** What begins or ends a transaction. Savepoints do not. */
const ENDS_IT =
  /^\s*(?:begin|start\s+transaction|commit|end|abort|rollback(?!\s+(?:(?:work|transaction)\s+)?to\b)|prepare\s+transaction)\b/i

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
    if (ENDS_IT.test(textOf(given[0])))
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

function misuse(message: string): PosternError {
  return new PosternError('transaction_misused', message)
}

import { misuse } from '../claims.ts'
import type { PgClient } from './pool.ts'

/** A query that begins or ends a transaction. Savepoints do not count. The fence finds what stands further back in a text. */
const ENDS_IT =
  /^\s*(?:begin|start\s+transaction|commit|end|abort|rollback(?!\s+(?:(?:work|transaction)\s+)?to\b)|prepare\s+transaction)\b/i

/**
 * Wraps the client and replaces two methods. `query` refuses queries that begin or end a transaction, and every query after the
 * transaction has ended: a query that was not awaited would run outside it, or within another handler's. `release` does nothing, since
 * libraries that get the client as a pool of one call it. After `close` the client refuses every query: another handler may have its
 * connection by then.
 */
export function guardClient<C extends PgClient>(inner: C) {
  let isOpen = true
  const query = (...given: readonly unknown[]): unknown => {
    if (!isOpen) throw misuse('A query was sent after its transaction had ended. Await every query within the work.')
    if (ENDS_IT.test(textOf(given[0])))
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

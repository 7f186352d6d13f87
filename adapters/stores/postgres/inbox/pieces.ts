import { MOST_COUNTED, MOST_LISTED } from '../../../../src/engine.ts'
import { fillIn, STATES_AND_LIMITS } from '../../fill-in.ts'
import { asText } from '../encode.ts'
import type { Names } from './tables.ts'

/** In microseconds since 1970, by a clock that runs on while a statement waits. An index can be searched for it only through `args`. */
export const NOW = '(extract(epoch FROM clock_timestamp()) * 1000000)::bigint'

/** The columns of an entry, in the order in which `toEntry` reads them. */
const ENTRY =
  'i.key, i.account, i.id, i.type, i.received_at, i.more, i.since, i.due_at, i.failures, i.deaths, i.marks, i.tries, CASE WHEN i.away IS NULL THEN i.lane ELSE i.away END'
export const ENTRY_LENGTH = ENTRY.split(',').length

const LIMITS = {
  MOST_COUNTED,
  MOST_READ: MOST_LISTED + 1,
  /** The most items that a worker runs concurrently. */
  MOST_TAKEN: 1_000,
  /** More than any app has. It makes the server use the index. */
  MOST_WORKERS: 1_000,
  /** The time for which a worker without a sign of life is remembered, in microseconds. */
  WORKER_KEPT: 3_600_000_000,
  /** From this size on, in bytes, every plan uses the indexes. */
  LARGE: 16 * 8_192,
}

/** Parts of statements, each under the name by which a statement has it. */
const PARTS = {
  /**
   * Commits without waiting for the disk. If the server crashes right after, an item is taken or settled once more, and the store knows of
   * handlers that finished.
   */
  ASYNC: "set_config('synchronous_commit', 'off', true)",
  /**
   * The columns without a default. An `INSERT` of them with an arbiter index updates rows by their key, no matter for which size of the table
   * it was planned.
   */
  REQUIRED: 'key, seq, state, position, account, id, type, received_at, since, due_at',
  /** Assignments that make a dead letter wait again. */
  REPLAY: 'state = @DELAYED, position = @NOW, due_at = @NOW, since = @NOW, failures = 0, losses = 0, deaths = 0',
  /** An item's place among the ready ones, of its account's last turn, its number behind that, and a row of `next`. */
  TURN: 'greatest(turn, coalesce(next.position, next.now)) + nth',
  /** The body of an item `i`. */
  BODY: "(SELECT encode(bytes, 'hex') FROM @bodies b WHERE b.seq = i.seq)",
  IS_LARGE: '(pg_relation_size(@relation) >= @LARGE)::text',
  /** The bytes of the body and the tries of an item `p`; the server reads neither for that. */
  SIZE: 'coalesce((SELECT octet_length(bytes) FROM @bodies b WHERE b.seq = p.seq), 0) + coalesce(octet_length(p.tries), 0)',
  /** The turn of the next ready item, if there is one, and the time. */
  NEXT: `next AS MATERIALIZED (
  SELECT (
    SELECT position FROM @items WHERE state = @READY AND position >= (SELECT hint FROM args) ORDER BY position LIMIT 1
  ) AS position, now FROM args
)`,
  /** The row of `next`, which is the first one of a statement. */
  NEXT_ROW: 'SELECT NULL, position::text, now::text, (pg_relation_size(@relation) >= @LARGE)::text FROM next',
  /** The worker, if its lease runs. */
  ME: 'me AS MATERIALIZED (SELECT number FROM @workers WHERE worker = (SELECT worker FROM args) AND ends_at > (SELECT now FROM args))',
  /** The next suspect, unless another one runs alone. */
  NEXT_SUSPECT: `alone AS MATERIALIZED (
  SELECT FROM @workers w CROSS JOIN LATERAL (
    SELECT FROM @items i WHERE i.key = w.alone AND i.state = @RUNNING AND i.position = w.number OFFSET 0
  ) i WHERE alone IS NOT NULL AND ends_at > (SELECT now FROM args)
), suspect AS MATERIALIZED (
  SELECT * FROM @items WHERE state = @SUSPECT AND EXISTS (SELECT FROM me) AND NOT EXISTS (SELECT FROM alone)
  ORDER BY position LIMIT 1 FOR UPDATE SKIP LOCKED
)`,
  /** Condition that the worker of an item `i` has a lease. */
  LIVES: 'EXISTS (SELECT FROM @workers w WHERE w.number = i.position AND w.ends_at > @NOW)',
  /** The items of workers whose lease runs. */
  LEASED: `SELECT i.* FROM (
  SELECT * FROM @workers w WHERE ends_at > (SELECT now FROM args) ORDER BY ends_at DESC LIMIT @MOST_WORKERS
) w CROSS JOIN LATERAL (SELECT * FROM @items i WHERE i.state = @RUNNING AND i.position = w.number OFFSET 0) i`,
  /** The items of workers whose lease has ended. */
  LAPSED: `SELECT i.* FROM (
  SELECT * FROM @workers w WHERE ends_at <= (SELECT now FROM args) ORDER BY ends_at LIMIT @MOST_WORKERS
) w CROSS JOIN LATERAL (SELECT * FROM @items i WHERE i.state = @RUNNING AND i.position = w.number OFFSET 0) i`,
  /** Locks the lane of an item as the trigger does it, but before the row is locked: others lock in this order. */
  LOCKED:
    'locked AS MATERIALIZED (SELECT pg_advisory_xact_lock(hashtextextended(lane, @relation::regclass::oid::bigint)) FROM @items WHERE key = $1 AND lane IS NOT NULL)',
}

/** Returns a function that fills in statements for these tables. */
export function makeFill(names: Names) {
  const values = { ...STATES_AND_LIMITS, ...LIMITS, NOW, ENTRY, ...names, relation: asText(names.items) }
  const fillAll = <K extends PropertyKey>(texts: Readonly<Record<K, string>>, more = {}) => {
    const filled = Object.entries<string>(texts).map(([name, sql]) => [name, fillIn(sql, { ...values, ...more })])
    return Object.fromEntries(filled) as Readonly<Record<K, string>> // the same names
  }
  const parts = fillAll(PARTS)
  return <K extends PropertyKey>(texts: Readonly<Record<K, string>>) => fillAll(texts, parts)
}

/**
 * Lanes of items that another transaction has locked; locks the others. The trigger would wait, and the whole group with it.
 *
 * @param also which of the others count, too
 */
export function busy(rows: string, also = 'false'): string {
  return `busy AS MATERIALIZED (
  SELECT lane FROM (SELECT DISTINCT lane FROM (${rows}) l WHERE lane <> '') l
  WHERE NOT pg_try_advisory_xact_lock(hashtextextended(lane, @relation::regclass::oid::bigint)) OR ${also}
)`
}

export function isFree(lane: string): string {
  return `coalesce(${lane}, '') NOT IN (SELECT lane FROM busy)`
}

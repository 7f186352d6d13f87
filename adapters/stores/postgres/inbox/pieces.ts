/** From this size on, in bytes, every plan uses the indexes. */
const LARGE = 16 * 8_192
/** More than any app has. It makes the server use the index. */
const MOST_WORKERS = 1_000

/** In microseconds since 1970, by a clock that runs on while a statement waits. An index can be searched for it only through `args`. Statements
 * have it as `@NOW`. */
export const NOW = '(extract(epoch FROM clock_timestamp()) * 1000000)::bigint'

/**
 * Commits without waiting for the disk. If the server crashes right after, an item is taken or settled once more, and the store knows of
 * handlers that finished.
 */
export const ASYNC = "set_config('synchronous_commit', 'off', true)"

/** The columns of an entry, in the order in which `toEntry` reads them. */
export const ENTRY =
  'i.key, i.account, i.id, i.type, i.received_at, i.more, i.since, i.due_at, i.failures, i.deaths, i.marks, i.tries, CASE WHEN i.away IS NULL THEN i.lane ELSE i.away END'
export const ENTRY_LENGTH = ENTRY.split(',').length
/** The columns without a default. */
const REQUIRED = 'key, seq, state, position, account, id, type, received_at, since, due_at'

/** Assignments that make a dead letter wait again. */
export const REPLAY = `state = @DELAYED, position = @NOW, due_at = @NOW, since = @NOW, failures = 0, losses = 0, deaths = 0`

/** An item's place among the ready ones, of its account's last turn, its number behind that, and a row of `next`. */
export const TURN = 'greatest(turn, coalesce(next.position, next.now)) + nth'

/** Place of the body of an item `i`, in hexadecimal. */
export const BODY = "(SELECT encode(bytes, 'hex') FROM @bodies b WHERE b.seq = i.seq)"
export const IS_LARGE = `(pg_relation_size(@relation) >= ${LARGE})::text`
/** The bytes of the body and the tries of an item `p`; the server reads neither for that. */
export const SIZE =
  'coalesce((SELECT octet_length(bytes) FROM @bodies b WHERE b.seq = p.seq), 0) + coalesce(octet_length(p.tries), 0)'
/** The items of a worker `w`. */
export const ITEMS_OF = '(SELECT * FROM @items i WHERE i.state = @RUNNING AND i.position = w.number'
export const LOCK_OF = 'hashtextextended(lane, @relation::regclass::oid::bigint)'
/** The turn of the next ready item, if there is one, and the time. */
export const NEXT = `next AS MATERIALIZED (
  SELECT (
    SELECT position FROM @items WHERE state = @READY AND position >= (SELECT hint FROM args) ORDER BY position LIMIT 1
  ) AS position, now FROM args
)`
/** The row of `next`, which is the first one of a statement. */
export const NEXT_ROW = `SELECT NULL, position::text, now::text, ${IS_LARGE} FROM next`
/** The worker, if its lease runs. */
export const ME =
  'me AS MATERIALIZED (SELECT number FROM @workers WHERE worker = (SELECT worker FROM args) AND ends_at > (SELECT now FROM args))'
export const START = 'state = @RUNNING, position = (SELECT number FROM me), taken_at = (SELECT now FROM args)'
/** The next suspect, unless another one runs alone. */
export const NEXT_SUSPECT = `alone AS MATERIALIZED (
  SELECT FROM @workers w CROSS JOIN LATERAL (
    SELECT FROM @items i WHERE i.key = w.alone AND i.state = @RUNNING AND i.position = w.number OFFSET 0
  ) i WHERE alone IS NOT NULL AND ends_at > (SELECT now FROM args)
), suspect AS MATERIALIZED (
  SELECT * FROM @items WHERE state = @SUSPECT AND EXISTS (SELECT FROM me) AND NOT EXISTS (SELECT FROM alone)
  ORDER BY position LIMIT 1 FOR UPDATE SKIP LOCKED
)`

/** An `INSERT` with an arbiter index updates rows by their key, no matter for which size of the table it was planned. */
export function update(from: string, assignments: string): string {
  return `INSERT INTO @items AS i (${REQUIRED}) SELECT ${REQUIRED} FROM ${from}
  ON CONFLICT (key) DO UPDATE SET ${assignments}`
}

/**
 * Lanes of items that another transaction has locked; locks the others. The trigger would wait, and the whole group with it.
 *
 * @param also which of the others count, too
 */
export function busy(rows: string, also = 'false'): string {
  return `busy AS MATERIALIZED (
  SELECT lane FROM (SELECT DISTINCT lane FROM (${rows}) l WHERE lane <> '') l
  WHERE NOT pg_try_advisory_xact_lock(${LOCK_OF}) OR ${also}
)`
}

export function isFree(lane: string): string {
  return `coalesce(${lane}, '') NOT IN (SELECT lane FROM busy)`
}

/** Workers whose lease has ended (`<=`) or not (`>`): all, or those with or without items. */
export function workersThat(ends: '<=' | '>', holds?: 'EXISTS' | 'NOT EXISTS'): string {
  const filter = holds === undefined ? '' : `AND ${holds} ${ITEMS_OF} OFFSET 0)`
  return `(SELECT * FROM @workers w WHERE ends_at ${ends} (SELECT now FROM args) ${filter}
  ORDER BY ends_at ${ends === '>' ? 'DESC' : ''} LIMIT ${MOST_WORKERS})`
}

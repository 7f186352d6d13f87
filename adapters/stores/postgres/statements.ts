import { type Position, STORE_LIMIT_MS } from '../../../src/engine.ts'
import { asText, quoteName } from './encode.ts'
import { indexPart, makeCheck, makeMissing, tablePart } from './parts.ts'

/** Place of the table of claims. */
export interface TableName {
  /** The schema of the table. Default: the first one of the connection's search_path. */
  readonly schema?: string | undefined
  /** Default `postern_claims`. */
  readonly table?: string | undefined
}

export const DEFAULT_TABLE = 'postern_claims'
/** The version of the table's structure, stored in the table's comment. */
export const TABLE_VERSION = 1
/** The longest pause of a transaction between its fence and its commit, in milliseconds: other claims of its key wait for it. */
const COMMIT_WITHIN_MS = 10_000
export const SWEEP_SIZE = 1_000
const NOW = 'clock_timestamp()'
/** Holds the name of the current transaction, and is empty once that has ended for any reason. */
export const TRANSACTION_SETTING = 'postern.transaction'
const CURRENT = `current_setting('${TRANSACTION_SETTING}', true)`

/** The condition and the data of a commit. */
interface Fence {
  /** Encoded, and so is the mark. */
  readonly key: string
  readonly token: string
  readonly mark: string
  readonly position: Position | undefined
  /** The name of the transaction. */
  readonly transaction: string
}

export function nameOf({ schema, table = DEFAULT_TABLE }: TableName): string {
  return schema === undefined ? quoteName(table) : `${quoteName(schema)}.${quoteName(table)}`
}

function makePieces(tableName: TableName, retentionMs: number) {
  const retention = `interval '${retentionMs} ms'`
  // Rows are swept somewhat later than they expire, so that a completion need not move the time: it stays out of the index.
  const slack = `interval '${Math.min(retentionMs, 3_600_000)} ms'`
  const inMs = (column: string) => `${NOW} + ${column} * interval '1 ms'`
  const leased = `(key, token, ends_at, kept_until, swept_after)
  SELECT key, token, ${inMs('lease')}, ${inMs('lease')} + ${retention}, ${inMs('lease')} + ${retention} + ${slack}`
  return { name: nameOf(tableName), retention, slack, inMs, leased }
}

type Pieces = ReturnType<typeof makePieces>
export type Statements = ReturnType<typeof makeStatements>

/**
 * Every statement of the store, for one table. Times are the server's, by a clock that runs on while a statement waits. Rows are looked up
 * one by one (`LATERAL`, `OFFSET 0`) and written by their key: joins would be planned for the size of the table when a connection prepares
 * the statement, and later read the whole table.
 */
export function makeStatements(tableName: TableName, retentionMs: number) {
  const pieces = makePieces(tableName, retentionMs)
  const { schema, table = DEFAULT_TABLE } = tableName
  const swept = indexPart(nameOf({ schema, table: `${table}_swept` }), pieces.name)
  const missing = makeMissing([tablePart(pieces.name), swept])
  return {
    missing,
    /** Creates the missing parts. Several statements, without parameters. */
    create: makeCreate(pieces, quoteName(`${table}_swept`), missing),
    claim: makeClaim(pieces),
    settle: makeSettle(pieces),
    commitMark: makeCommitMark(pieces),
    forget: makeForget(pieces),
    sweep: makeSweep(pieces),
  }
}

function makeCreate({ name }: Pieces, index: string, missing: string): string {
  const comment = `BEGIN
  IF obj_description(${asText(name)}::regclass, 'pg_class') IS NULL THEN
    COMMENT ON TABLE ${name} IS 'postern ${TABLE_VERSION}';
  END IF;
END`
  return `
CREATE TABLE IF NOT EXISTS ${name} (
  key text COLLATE "C" PRIMARY KEY,
  token text NOT NULL,                  -- of whoever called last
  ends_at timestamptz,                  -- of the lease; null where nobody holds the key
  done boolean NOT NULL DEFAULT false,
  marks text[] NOT NULL DEFAULT '{}',   -- handlers that have finished
  kept_until timestamptz NOT NULL,      -- what is older than this counts as forgotten
  swept_after timestamptz NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX IF NOT EXISTS ${index} ON ${name} (swept_after);
DO ${asText(comment)};
${makeCheck(missing)};
`.trimStart()
}

/**
 * Takes keys, tokens and lengths of leases, and keys of positions. Returns a row for each key that existed before: its marks if it was free,
 * otherwise what it was completed with if it is done; and a row for each stored position. Nothing here waits for a row that another transaction has locked: such a key is busy, and is not among the keys that are
 * inserted, since an INSERT waits for a row that is being changed. If the table was locked for so long that the callers have given up,
 * nothing is claimed: the transaction is older then, and the only row has no key.
 */
function makeClaim({ name, leased }: Pieces): string {
  return `
WITH wanted AS MATERIALIZED (
  SELECT * FROM unnest($1::text[], $2::text[], $3::float8[]) AS w (key, token, lease)
  WHERE (SELECT ${NOW} < now() + interval '${STORE_LIMIT_MS} ms')
), fresh AS (
  INSERT INTO ${name} ${leased}
  FROM wanted w WHERE NOT EXISTS (SELECT FROM ${name} c WHERE c.key = w.key OFFSET 0) ORDER BY key
  ON CONFLICT (key) DO NOTHING
  RETURNING key
), free AS (
  SELECT w.* FROM wanted w CROSS JOIN LATERAL (
    SELECT FROM ${name} c WHERE c.key = w.key
      AND (c.ends_at IS NULL OR c.ends_at <= ${NOW} OR c.token = w.token) AND (NOT c.done OR c.kept_until <= ${NOW})
    FOR UPDATE SKIP LOCKED
  ) c
), taken AS (
  INSERT INTO ${name} AS c ${leased}
  FROM free
  ON CONFLICT (key) DO UPDATE SET
    token = excluded.token, ends_at = excluded.ends_at, done = false,
    marks = CASE WHEN c.kept_until <= ${NOW} THEN '{}' ELSE c.marks END,
    kept_until = excluded.kept_until, swept_after = excluded.swept_after
  RETURNING key, marks
)
SELECT w.key, to_json(taken.marks)::text, CASE WHEN c.done AND c.kept_until > ${NOW} THEN to_json(c.marks)::text END
FROM wanted w LEFT JOIN taken ON taken.key = w.key
LEFT JOIN LATERAL (SELECT done, kept_until, marks FROM ${name} c WHERE c.key = w.key OFFSET 0) c ON true
WHERE NOT EXISTS (SELECT FROM fresh WHERE fresh.key = w.key)
UNION ALL SELECT NULL, NULL, NULL WHERE NOT EXISTS (SELECT FROM wanted)
UNION ALL SELECT c.* FROM unnest($4::text[]) AS w (key) CROSS JOIN LATERAL (
  SELECT key, token, NULL FROM ${name} c WHERE c.key = w.key AND c.kept_until > ${NOW} OFFSET 0
) c`
}

/**
 * Renewals, completions and releases in one statement, with events, keys and times of positions. A renewal has a lease, a completion is
 * done. The caller's token stays in the row even without a lease. Writes unless another token holds the key, or a renewal's key is done;
 * positions are written in either case. Returns for each key whether it was written. If another transaction has locked its row, or that of a
 * position, the key has no row in the answer: waiting for one would delay all others. A position that another transaction has inserted and
 * not committed is not seen so, and is waited for.
 */
function makeSettle(pieces: Pieces): string {
  const { name, retention, slack, inMs } = pieces
  const unlocked = 'NOT IN (SELECT event FROM locked)'
  const placed = `(SELECT key, max(at)::text AS position FROM places WHERE event ${unlocked} GROUP BY key) w`
  return `
WITH given AS MATERIALIZED (
  SELECT * FROM jsonb_to_recordset($1::jsonb) AS w (key text, token text, lease float8, done boolean, marks jsonb)
), places AS MATERIALIZED (
  SELECT * FROM unnest($2::text[], $3::text[], $4::numeric[]) AS w (event, key, at)
), touched AS MATERIALIZED (
  SELECT key AS event, key FROM given UNION ALL SELECT event, key FROM places
), mine AS MATERIALIZED (
  SELECT key FROM touched CROSS JOIN LATERAL (
    SELECT FROM ${name} c WHERE c.key = touched.key FOR NO KEY UPDATE SKIP LOCKED
  ) c
), locked AS MATERIALIZED (
  SELECT event FROM touched
  WHERE key NOT IN (SELECT key FROM mine) AND EXISTS (SELECT FROM ${name} c WHERE c.key = touched.key OFFSET 0)
), placed AS (
  ${makeUpsert(pieces, placed)}
), written AS (
  INSERT INTO ${name} AS c (key, token, ends_at, done, marks, kept_until, swept_after)
  SELECT key, token, ${inMs('lease')}, done, ARRAY(SELECT jsonb_array_elements_text(marks)),
    ${inMs('coalesce(lease, 0)')} + ${retention}, ${inMs('coalesce(lease, 0)')} + ${retention} + ${slack}
  FROM given WHERE key ${unlocked}
  ORDER BY key
  ON CONFLICT (key) DO UPDATE SET
    token = excluded.token, ends_at = excluded.ends_at,
    done = excluded.done OR c.done AND c.kept_until > ${NOW},
    marks = CASE
      WHEN excluded.done THEN excluded.marks
      WHEN c.kept_until <= ${NOW} THEN excluded.marks
      WHEN c.done OR excluded.marks = '{}' THEN c.marks
      ELSE ARRAY(SELECT DISTINCT unnest(c.marks || excluded.marks)) END,
    kept_until = CASE WHEN c.done AND c.kept_until > ${NOW} THEN c.kept_until ELSE excluded.kept_until END,
    swept_after = CASE WHEN c.swept_after >= excluded.kept_until THEN c.swept_after ELSE excluded.swept_after END
  WHERE (c.ends_at IS NULL OR c.ends_at <= ${NOW} OR c.token = excluded.token)
    AND NOT (excluded.ends_at IS NOT NULL AND c.done AND c.kept_until > ${NOW})
  RETURNING key
)
SELECT key, (key IN (SELECT key FROM written))::text FROM given WHERE key ${unlocked}`
}

/** Writes positions unless later ones are stored. A position is stored as the token, in the row of an event that is done. */
function makeUpsert({ name, retention, slack }: Pieces, from: string): string {
  return `INSERT INTO ${name} AS c (key, token, ends_at, done, kept_until, swept_after)
  SELECT key, position, NULL, true, ${NOW} + ${retention}, ${NOW} + ${retention} + ${slack}
  FROM ${from} ORDER BY key
  ON CONFLICT (key) DO UPDATE SET
    token = excluded.token, kept_until = excluded.kept_until, swept_after = excluded.swept_after
  WHERE c.kept_until <= ${NOW} OR c.token::numeric <= excluded.token::numeric
  RETURNING key`
}

/**
 * The fence: returns whether the transaction is still the one that was begun, whether the last claim is still this one, and whether no
 * later position is stored. The mark is set and the position is tried only if the first two hold. Deferred constraints are checked before:
 * a check that waits must not do so with the claim's row locked.
 */
function makeCommitMark(pieces: Pieces): (fence: Fence) => string {
  const { name, retention } = pieces
  return ({ key, token, mark, position, transaction }) => {
    const given = position && `(SELECT ${asText(position.key)} AS key, '${position.at}' AS position FROM marked) w`
    const placed = given === undefined ? '' : `, placed AS (${makeUpsert(pieces, given)})`
    return `
SET CONSTRAINTS ALL IMMEDIATE;
WITH marked AS (
  UPDATE ${name}
  SET marks = array_append(marks, ${asText(mark)}), kept_until = greatest(kept_until, ${NOW} + ${retention})
  WHERE key = ${asText(key)} AND token = ${asText(token)} AND ends_at IS NOT NULL AND NOT done
    AND ${asText(mark)} <> ALL (marks) AND ${CURRENT} = ${asText(transaction)}
  RETURNING set_config('idle_in_transaction_session_timeout', '${COMMIT_WITHIN_MS}', true)
)${placed}
SELECT (${CURRENT} = ${asText(transaction)})::text, EXISTS (SELECT FROM marked)::text,
  ${given === undefined ? 'true' : 'EXISTS (SELECT FROM placed)'}::text`
  }
}

/** Returns a row if the event was known. Does not wait for a row that another transaction has locked: it is being settled. */
function makeForget({ name }: Pieces): string {
  return `
WITH gone AS (
  DELETE FROM ${name} WHERE key = (
    SELECT key FROM ${name} WHERE key = $1 AND (ends_at IS NULL OR ends_at <= ${NOW}) FOR UPDATE SKIP LOCKED
  ) RETURNING done, marks, kept_until
)
SELECT 1 FROM gone WHERE kept_until > ${NOW} AND (done OR marks <> '{}')`
}

/** Returns a row for each removed row. Does not wait for a lock of the table: its caller would have given up. */
function makeSweep({ name }: Pieces): string {
  return `
SET LOCAL lock_timeout = '1s';
DELETE FROM ${name} WHERE key = ANY (ARRAY(
  SELECT key FROM ${name} WHERE swept_after < now() AND (ends_at IS NULL OR ends_at < now())
  ORDER BY swept_after LIMIT ${SWEEP_SIZE} FOR UPDATE SKIP LOCKED
)) RETURNING 1`
}

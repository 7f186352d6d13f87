import { type Position, STORE_LIMIT_MS } from '../../../src/engine.ts'
import { fillIn } from '../fill-in.ts'
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

export type Statements = ReturnType<typeof makeStatements>

/**
 * Every statement of the store, for one table. Times are the server's, by a clock that runs on while a statement waits. Rows are looked up
 * one by one (`LATERAL`, `OFFSET 0`) and written by their key: joins would be planned for the size of the table when a connection prepares
 * the statement, and later read the whole table.
 */
export function makeStatements(tableName: TableName, retentionMs: number) {
  const { schema, table = DEFAULT_TABLE } = tableName
  const claims = nameOf(tableName)
  const swept = indexPart(nameOf({ schema, table: `${table}_swept` }), claims)
  const missing = makeMissing([tablePart(claims), swept])
  const values = {
    NOW: 'clock_timestamp()',
    claims,
    retention: `interval '${retentionMs} ms'`,
    // Rows are swept somewhat later than they expire, so that a completion need not move the time: it stays out of the index.
    slack: `interval '${Math.min(retentionMs, 3_600_000)} ms'`,
  }
  return {
    missing,
    /** Creates the missing parts. Several statements, without parameters. */
    create: makeCreate(claims, quoteName(`${table}_swept`), missing),
    claim: fillIn(CLAIM, values),
    settle: fillIn(SETTLE, values),
    commitMark: (fence: Fence) =>
      fillIn(makeCommitMark(fence.position !== undefined), { ...values, ...toTexts(fence) }),
    forget: fillIn(FORGET, values),
    sweep: fillIn(SWEEP, values),
  }
}

function makeCreate(claims: string, index: string, missing: string): string {
  const comment = `BEGIN
  IF obj_description(${asText(claims)}::regclass, 'pg_class') IS NULL THEN
    COMMENT ON TABLE ${claims} IS 'postern ${TABLE_VERSION}';
  END IF;
END`
  return `
CREATE TABLE IF NOT EXISTS ${claims} (
  key text COLLATE "C" PRIMARY KEY,
  token text NOT NULL,                  -- of whoever called last
  ends_at timestamptz,                  -- of the lease; null where nobody holds the key
  done boolean NOT NULL DEFAULT false,
  marks text[] NOT NULL DEFAULT '{}',   -- handlers that have finished
  kept_until timestamptz NOT NULL,      -- what is older than this counts as forgotten
  swept_after timestamptz NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX IF NOT EXISTS ${index} ON ${claims} (swept_after);
DO ${asText(comment)};
${makeCheck(missing)};
`.trimStart()
}

const LEASED = `(key, token, ends_at, kept_until, swept_after)
  SELECT key, token, @NOW + lease * interval '1 ms', @NOW + lease * interval '1 ms' + @retention, @NOW + lease * interval '1 ms' + @retention + @slack`

/**
 * Takes keys, tokens and lengths of leases, and keys of positions. Returns a row for each key that existed before: its marks if it was free,
 * otherwise what it was completed with if it is done; and a row for each stored position. Nothing here waits for a row that another transaction has locked: such a key is busy, and is not among the keys that are
 * inserted, since an INSERT waits for a row that is being changed. If the table was locked for so long that the callers have given up,
 * nothing is claimed: the transaction is older then, and the only row has no key.
 */
const CLAIM = `
WITH wanted AS MATERIALIZED (
  SELECT * FROM unnest($1::text[], $2::text[], $3::float8[]) AS w (key, token, lease)
  WHERE (SELECT @NOW < now() + interval '${STORE_LIMIT_MS} ms')
), fresh AS (
  INSERT INTO @claims ${LEASED}
  FROM wanted w WHERE NOT EXISTS (SELECT FROM @claims c WHERE c.key = w.key OFFSET 0) ORDER BY key
  ON CONFLICT (key) DO NOTHING
  RETURNING key
), free AS (
  SELECT w.* FROM wanted w CROSS JOIN LATERAL (
    SELECT FROM @claims c WHERE c.key = w.key
      AND (c.ends_at IS NULL OR c.ends_at <= @NOW OR c.token = w.token) AND (NOT c.done OR c.kept_until <= @NOW)
    FOR UPDATE SKIP LOCKED
  ) c
), taken AS (
  INSERT INTO @claims AS c ${LEASED}
  FROM free
  ON CONFLICT (key) DO UPDATE SET
    token = excluded.token, ends_at = excluded.ends_at, done = false,
    marks = CASE WHEN c.kept_until <= @NOW THEN '{}' ELSE c.marks END,
    kept_until = excluded.kept_until, swept_after = excluded.swept_after
  RETURNING key, marks
)
SELECT w.key, to_json(taken.marks)::text, CASE WHEN c.done AND c.kept_until > @NOW THEN to_json(c.marks)::text END
FROM wanted w LEFT JOIN taken ON taken.key = w.key
LEFT JOIN LATERAL (SELECT done, kept_until, marks FROM @claims c WHERE c.key = w.key OFFSET 0) c ON true
WHERE NOT EXISTS (SELECT FROM fresh WHERE fresh.key = w.key)
UNION ALL SELECT NULL, NULL, NULL WHERE NOT EXISTS (SELECT FROM wanted)
UNION ALL SELECT c.* FROM unnest($4::text[]) AS w (key) CROSS JOIN LATERAL (
  SELECT key, token, NULL FROM @claims c WHERE c.key = w.key AND c.kept_until > @NOW OFFSET 0
) c`

/**
 * Renewals, completions and releases in one statement, with events, keys and times of positions. A renewal has a lease, a completion is
 * done. The caller's token stays in the row even without a lease. Writes unless another token holds the key, or a renewal's key is done;
 * positions are written in either case. Returns for each key whether it was written. If another transaction has locked its row, or that of a
 * position, the key has no row in the answer: waiting for one would delay all others. A position that another transaction has inserted and
 * not committed is not seen so, and is waited for.
 */
const SETTLE = `
WITH given AS MATERIALIZED (
  SELECT * FROM jsonb_to_recordset($1::jsonb) AS w (key text, token text, lease float8, done boolean, marks jsonb)
), places AS MATERIALIZED (
  SELECT * FROM unnest($2::text[], $3::text[], $4::numeric[]) AS w (event, key, at)
), touched AS MATERIALIZED (
  SELECT key AS event, key FROM given UNION ALL SELECT event, key FROM places
), mine AS MATERIALIZED (
  SELECT key FROM touched CROSS JOIN LATERAL (
    SELECT FROM @claims c WHERE c.key = touched.key FOR NO KEY UPDATE SKIP LOCKED
  ) c
), locked AS MATERIALIZED (
  SELECT event FROM touched
  WHERE key NOT IN (SELECT key FROM mine) AND EXISTS (SELECT FROM @claims c WHERE c.key = touched.key OFFSET 0)
), placed AS (
  ${upsert('(SELECT key, max(at)::text AS position FROM places WHERE event NOT IN (SELECT event FROM locked) GROUP BY key) w')}
), written AS (
  INSERT INTO @claims AS c (key, token, ends_at, done, marks, kept_until, swept_after)
  SELECT key, token, @NOW + lease * interval '1 ms', done, ARRAY(SELECT jsonb_array_elements_text(marks)),
    @NOW + coalesce(lease, 0) * interval '1 ms' + @retention, @NOW + coalesce(lease, 0) * interval '1 ms' + @retention + @slack
  FROM given WHERE key NOT IN (SELECT event FROM locked)
  ORDER BY key
  ON CONFLICT (key) DO UPDATE SET
    token = excluded.token, ends_at = excluded.ends_at,
    done = excluded.done OR c.done AND c.kept_until > @NOW,
    marks = CASE
      WHEN excluded.done THEN excluded.marks
      WHEN c.kept_until <= @NOW THEN excluded.marks
      WHEN c.done OR excluded.marks = '{}' THEN c.marks
      ELSE ARRAY(SELECT DISTINCT unnest(c.marks || excluded.marks)) END,
    kept_until = CASE WHEN c.done AND c.kept_until > @NOW THEN c.kept_until ELSE excluded.kept_until END,
    swept_after = CASE WHEN c.swept_after >= excluded.kept_until THEN c.swept_after ELSE excluded.swept_after END
  WHERE (c.ends_at IS NULL OR c.ends_at <= @NOW OR c.token = excluded.token)
    AND NOT (excluded.ends_at IS NOT NULL AND c.done AND c.kept_until > @NOW)
  RETURNING key
)
SELECT key, (key IN (SELECT key FROM written))::text FROM given WHERE key NOT IN (SELECT event FROM locked)`

/** Writes positions unless later ones are stored. A position is stored as the token, in the row of an event that is done. */
function upsert(from: string): string {
  return `INSERT INTO @claims AS c (key, token, ends_at, done, kept_until, swept_after)
  SELECT key, position, NULL, true, @NOW + @retention, @NOW + @retention + @slack
  FROM ${from} ORDER BY key
  ON CONFLICT (key) DO UPDATE SET
    token = excluded.token, kept_until = excluded.kept_until, swept_after = excluded.swept_after
  WHERE c.kept_until <= @NOW OR c.token::numeric <= excluded.token::numeric
  RETURNING key`
}

/**
 * The fence: returns whether the transaction is still the one that was begun, whether the last claim is still this one, and whether no
 * later position is stored. The mark is set and the position is tried only if the first two hold. Deferred constraints are checked before:
 * a check that waits must not do so with the claim's row locked.
 */
function makeCommitMark(hasPosition: boolean): string {
  const placed = hasPosition
    ? `, placed AS (${upsert("(SELECT @position AS key, '@at' AS position FROM marked) w")})`
    : ''
  return `
SET CONSTRAINTS ALL IMMEDIATE;
WITH marked AS (
  UPDATE @claims
  SET marks = array_append(marks, @mark), kept_until = greatest(kept_until, @NOW + @retention)
  WHERE key = @key AND token = @token AND ends_at IS NOT NULL AND NOT done
    AND @mark <> ALL (marks) AND ${CURRENT} = @transaction
  RETURNING set_config('idle_in_transaction_session_timeout', '${COMMIT_WITHIN_MS}', true)
)${placed}
SELECT (${CURRENT} = @transaction)::text, EXISTS (SELECT FROM marked)::text,
  ${hasPosition ? 'EXISTS (SELECT FROM placed)' : 'true'}::text`
}

function toTexts({ key, token, mark, transaction, position = { key: '', at: 0 } }: Fence) {
  return {
    key: asText(key),
    token: asText(token),
    mark: asText(mark),
    transaction: asText(transaction),
    position: asText(position.key),
    at: position.at,
  }
}

/** Returns a row if the event was known. Does not wait for a row that another transaction has locked: it is being settled. */
const FORGET = `
WITH gone AS (
  DELETE FROM @claims WHERE key = (
    SELECT key FROM @claims WHERE key = $1 AND (ends_at IS NULL OR ends_at <= @NOW) FOR UPDATE SKIP LOCKED
  ) RETURNING done, marks, kept_until
)
SELECT 1 FROM gone WHERE kept_until > @NOW AND (done OR marks <> '{}')`

/** Returns a row for each removed row. Does not wait for a lock of the table: its caller would have given up. */
const SWEEP = `
SET LOCAL lock_timeout = '1s';
DELETE FROM @claims WHERE key = ANY (ARRAY(
  SELECT key FROM @claims WHERE swept_after < now() AND (ends_at IS NULL OR ends_at < now())
  ORDER BY swept_after LIMIT ${SWEEP_SIZE} FOR UPDATE SKIP LOCKED
)) RETURNING 1`

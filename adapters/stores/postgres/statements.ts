import { type Position, STORE_LIMIT_MS } from '../../../src/engine.ts'
import { fillIn } from '../fill-in.ts'
import { asText, quoteName } from './encode.ts'
import { indexPart, makeCheck, makeMissing, tablePart } from './parts.ts'
import { CLAIM, FORGET, SETTLE, SWEEP } from './store-texts.ts'

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
  const known = {
    NOW: 'clock_timestamp()',
    claims,
    retention: `interval '${retentionMs} ms'`,
    // Rows are swept somewhat later than they expire, so that a completion need not move the time: it stays out of the index.
    slack: `interval '${Math.min(retentionMs, 3_600_000)} ms'`,
    CURRENT: `current_setting('${TRANSACTION_SETTING}', true)`,
    COMMIT_WITHIN_MS,
    STORE_LIMIT_MS,
    SWEEP_SIZE,
  }
  const values = { ...known, LEASED: fillIn(LEASED, known), PLACED: fillIn(upsert(PLACED), known) }
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

const PLACED =
  '(SELECT key, max(at)::text AS position FROM places WHERE event NOT IN (SELECT event FROM locked) GROUP BY key) w'

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
    AND @mark <> ALL (marks) AND @CURRENT = @transaction
  RETURNING set_config('idle_in_transaction_session_timeout', '@COMMIT_WITHIN_MS', true)
)${placed}
SELECT (@CURRENT = @transaction)::text, EXISTS (SELECT FROM marked)::text,
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

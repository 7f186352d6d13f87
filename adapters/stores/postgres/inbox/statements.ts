import { makeCheck } from '../parts.ts'
import type { TableName } from '../statements.ts'
import { LOOK_AT_LANES, laneParts, makeLaneColumns, makeLaneTriggers } from './lanes.ts'
import { LEASES } from './leases.ts'
import { LOOK_UPS, PAGES } from './look-ups.ts'
import { busy, isFree, makeFill } from './pieces.ts'
import { DEFAULT_TABLE, makeAdvance, makeCreate, makeMissingOf, namesOf } from './tables.ts'
import { PROMOTIONS, TAKES } from './takes.ts'

/**
 * Every statement of an inbox. As in the store, rows are looked up one by one and written by their key: joins would be planned for the size
 * of the table when a connection prepares the statement. Parameters are read through `args`: if a plan's cost depended on their values, the
 * server would plan the statement each time, which takes longer than running it.
 */
export type InboxStatements = ReturnType<typeof makeInboxStatements>

export function makeInboxStatements(name: TableName) {
  const names = namesOf(name)
  const { table = DEFAULT_TABLE } = name
  const missing = makeMissingOf(name, laneParts(names.items))
  const triggers = makeLaneTriggers(names, table)
  const fill = makeFill(names)
  return {
    missing,
    triggers,
    create: `${makeLaneColumns(names)};\n${makeCreate(names, table, `${triggers};\n${makeCheck(missing)}`)}`,
    advance: makeAdvance(names),
    ...fill({ ...GROUPS, ...TAKES, ...PROMOTIONS, ...LEASES, ...LOOK_UPS }),
    pages: fill(PAGES),
  }
}

/**
 * Stores items that are not there, and revives dead letters, which keep their bodies. It fails if the number of a new item has a body already,
 * which is another event's: the sequence of numbers stands back. Items of a lane, which are of one account, are inserted in their order.
 * Reads others first: an INSERT would wait for a row that another transaction has locked. Returns a row of `next`, and the keys of items whose
 * lane another transaction has locked: those are not stored. The commit is on disk even if that is not the database's default.
 *
 * @param hasLanes false if no item has one, which saves 8 % of the server's time
 */
function makePut(hasLanes: boolean): string {
  const ifLanes = (text: string) => (hasLanes ? text : '')
  return `
WITH args AS MATERIALIZED (
  SELECT $1::text[] AS keys, $2::text[] AS accounts, $3::text[] AS ids, $4::text[] AS types, $5::float8[] AS times,
    $6::text[] AS mores, $7::int[] AS starts, $8::int[] AS lengths, $9::bigint[] AS turns, $10::int[] AS nths, $11::bigint AS hint,
    ${ifLanes('$13::text[] AS lanes,')} @NOW AS now, CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END
), given AS MATERIALIZED (
  SELECT g.* FROM args, unnest(keys, accounts, ids, types, times, mores, starts, lengths, turns, nths${ifLanes(', lanes')})
    AS g (key, account, id, type, received_at, more, start, length, turn, nth${ifLanes(', lane')})
), @NEXT, ${ifLanes(`${busy('SELECT lane FROM given')},`)} put AS (
  INSERT INTO @items AS i (key, state, position, account, id, type, received_at, more, since, due_at${ifLanes(', lane')})
  SELECT key, @READY, @TURN, account, id, type, received_at, nullif(more, ''), next.now, next.now${ifLanes(", nullif(lane, '')")}
  FROM given g CROSS JOIN next
  WHERE ${ifLanes(`${isFree('lane')} AND`)} NOT EXISTS (SELECT FROM @items i WHERE i.key = g.key AND state <> @DEAD OFFSET 0)
  ORDER BY ${ifLanes("lane, CASE lane WHEN '' THEN 0 ELSE nth END,")} key
  ON CONFLICT (key) DO UPDATE SET @REPLAY WHERE i.state = @DEAD RETURNING key, seq, xmax = 0 AS is_new
), stored AS (
  INSERT INTO @bodies SELECT seq, substr($12::bytea, start, length) FROM put JOIN given USING (key) WHERE is_new
), restored AS (
  INSERT INTO @bodies SELECT seq, substr($12::bytea, start, length) FROM put JOIN given USING (key) WHERE NOT is_new ON CONFLICT (seq) DO NOTHING
)
@NEXT_ROW ${ifLanes(`UNION ALL SELECT key, NULL, NULL, NULL FROM given WHERE NOT (${isFree('lane')})`)}`
}

/**
 * Settles items: objects with key, number of the worker, `next`, and what changes. Returns for each whether the worker held it; then whether
 * it existed before, and its tries, so that a settlement without an answer can be recognized. If another transaction has locked its row,
 * its lane, or all that is parked behind it, the item has no row in the answer: waiting for it would delay all others.
 *
 * Rows are found by their key alone: the index of places has all that the worker ever took while any transaction of the server is older.
 *
 * @param hasLanes false if no item has one
 */
function makeSettle(hasLanes: boolean): string {
  const ifLanes = (text: string) => (hasLanes ? text : '')
  const next = (lock: string) =>
    `SELECT key FROM @items p WHERE p.lane = l.lane AND p.state = @PARKED ORDER BY p.since LIMIT 1 ${lock}`
  // The one that is next is locked here, for the trigger.
  const areLocked = `(${next('')}) IS NOT NULL AND (${next('FOR UPDATE SKIP LOCKED')}) IS NULL`
  const isHeld = `i.state + 0 = @RUNNING AND i.position + 0 = g.worker AND i.taken_at = g.taken`
  return `
WITH given AS MATERIALIZED (
  SELECT g.* FROM (SELECT @ASYNC) a, jsonb_to_recordset($1::jsonb)
    AS g (key text, worker bigint, taken bigint, next text, delay bigint, failed int, kept int, marks text, tries text, lane text, away int)
), ${ifLanes(`${busy("SELECT lane FROM given WHERE next <> 'wait' OR away = 1", areLocked)},`)} held AS MATERIALIZED (
  SELECT g.* FROM given g CROSS JOIN LATERAL (SELECT FROM @items i WHERE i.key = g.key AND ${isHeld} FOR UPDATE SKIP LOCKED) i
  ${ifLanes(`WHERE ${isFree('g.lane')}`)}
), removed AS (
  DELETE FROM @items i USING held g WHERE g.next = 'remove' AND i.key = g.key RETURNING i.seq
), dropped AS (
  DELETE FROM @bodies b USING removed WHERE b.seq = removed.seq
), moved AS (
  UPDATE @items i SET
    state = CASE g.next WHEN 'bury' THEN @DEAD ELSE @DELAYED END, position = @NOW + g.delay, due_at = @NOW + g.delay,
    failures = i.failures + g.failed, losses = i.losses * g.kept, deaths = i.deaths * g.kept, lost_by = NULL,
    marks = coalesce(g.marks, i.marks), tries = coalesce(g.tries, i.tries),
    lane = CASE WHEN g.away = 1 THEN NULL ELSE i.lane END, away = CASE WHEN g.away = 1 THEN i.lane END
  FROM held g WHERE g.next IN ('wait', 'bury') AND i.key = g.key
)
SELECT g.key, (g.key IN (SELECT key FROM held))::text, (i.key IS NOT NULL)::text, i.tries
FROM given g LEFT JOIN LATERAL (SELECT key, tries, ${isHeld} AS is_held FROM @items i WHERE i.key = g.key OFFSET 0) i ON true
WHERE i.is_held IS NOT TRUE OR g.key IN (SELECT key FROM held)`
}

/** Deletes dead letters that are older than so many microseconds. Returns a row for each. */
const SWEEP_DEAD = `
WITH args AS MATERIALIZED (SELECT @NOW - $1::bigint AS oldest), old AS MATERIALIZED (
  SELECT key FROM @items WHERE state = @DEAD AND position < (SELECT oldest FROM args) ORDER BY position LIMIT @BATCH
  FOR UPDATE SKIP LOCKED
), gone AS (
  DELETE FROM @items i USING old WHERE i.key = old.key RETURNING i.seq
), dropped AS (
  DELETE FROM @bodies b USING gone WHERE b.seq = gone.seq
)
SELECT 1 FROM gone`

const GROUPS = {
  put: makePut(false),
  putInLanes: makePut(true),
  settle: makeSettle(false),
  settleInLanes: makeSettle(true),
  sweepDead: SWEEP_DEAD,
  lookAtLanes: LOOK_AT_LANES,
}

import { MOST_COUNTED, MOST_LISTED } from '../../../../src/engine.ts'
import { DEAD, DELAYED, LAPSED, PARKED, READY, RUNNING, SUSPECT } from '../../inbox-lines.ts'
import { headsOf } from './lanes.ts'
import { BODY, ENTRY, ITEMS_OF, LOCK_OF, REPLAY, workersThat } from './pieces.ts'

const LIVES = 'EXISTS (SELECT FROM @workers w WHERE w.number = i.position AND w.ends_at > @NOW)'
const runningOf = (ends: '<=' | '>') =>
  `SELECT i.* FROM ${workersThat(ends)} w CROSS JOIN LATERAL ${ITEMS_OF} OFFSET 0) i`
const inState = (state: number) => `SELECT * FROM @items WHERE state = ${state}`
const count = (rows: string) => `(SELECT count(*) FROM (${rows} LIMIT ${MOST_COUNTED}) counted)`
const page = (rows: string) => `
WITH args AS MATERIALIZED (SELECT $1::bigint AS position, $2::bigint AS seq, $3::int AS most, @NOW AS now)
SELECT * FROM (
  SELECT ${ENTRY}, i.position, i.seq FROM (${rows}) i
  WHERE i.position >= (SELECT position FROM args) AND (i.position, i.seq) > (SELECT position, seq FROM args)
  ORDER BY i.position, i.seq LIMIT ${MOST_LISTED + 1}
) page LIMIT (SELECT most FROM args)`
// As the trigger does it, but before the row is locked: others lock in this order.
const LOCKED = `locked AS MATERIALIZED (SELECT pg_advisory_xact_lock(${LOCK_OF}) FROM @items WHERE key = $1 AND lane IS NOT NULL)`
const IS_LOCKED = '(SELECT count(*) FROM locked) >= 0'

/** Pages of the items in each state, by its number, that begin behind a position and a `seq`. */
export const PAGES: Readonly<Record<number, string>> = {
  [RUNNING]: page(runningOf('>')),
  [LAPSED]: page(runningOf('<=')),
  ...Object.fromEntries([READY, DELAYED, PARKED, SUSPECT, DEAD].map((state) => [state, page(inState(state))])),
}

/** The statements for people, and for metrics. Only `get` reads a body. An item whose worker's lease has ended waits. */
export const LOOK_UPS = {
  /** Returns the entry with its body, the number of its state, and whether its worker's lease runs. */
  get: `SELECT ${ENTRY}, ${BODY}, i.state, ${LIVES}::text FROM @items i WHERE key = $1`,

  /** Returns the item for which the parked ones of a lane wait. */
  headOf: `SELECT ${ENTRY} FROM ${headsOf('$1')} ORDER BY i.since LIMIT 1`,

  counts: `
WITH args AS MATERIALIZED (SELECT @NOW AS now)
SELECT ${[READY, DELAYED, SUSPECT, PARKED].map((state) => count(inState(state))).join(' + ')} + ${count(runningOf('<='))},
  ${count(runningOf('>'))}, ${count(inState(DEAD))}, least(
    (SELECT min(due_at) FROM (${inState(READY)} ORDER BY position LIMIT ${MOST_COUNTED}) i),
    (SELECT min(due_at) FROM (${inState(SUSPECT)} ORDER BY position LIMIT ${MOST_COUNTED}) i),
    (SELECT due_at FROM @items WHERE state = @DELAYED AND position <= (SELECT now FROM args) ORDER BY position LIMIT 1),
    (SELECT min(due_at) FROM (${runningOf('<=')} LIMIT ${MOST_COUNTED}) i)),
  ${count(inState(PARKED))}, (SELECT due_at FROM @items WHERE state = @PARKED ORDER BY position LIMIT 1)
FROM args`,

  replay: `
WITH ${LOCKED}, revived AS (
  UPDATE @items SET ${REPLAY} WHERE ${IS_LOCKED} AND key = $1 AND state = @DEAD RETURNING 1
), hastened AS (
  UPDATE @items SET position = @NOW, due_at = @NOW WHERE key = $1 AND state = @DELAYED AND position > @NOW RETURNING 1
)
SELECT 1 FROM revived UNION ALL SELECT 1 FROM hastened`,

  drop: `
WITH ${LOCKED}, gone AS (
  DELETE FROM @items i WHERE ${IS_LOCKED} AND key = $1 AND NOT (state = @RUNNING AND ${LIVES}) RETURNING seq
), dropped AS (
  DELETE FROM @bodies b USING gone WHERE b.seq = gone.seq
)
SELECT 1 FROM gone`,
}

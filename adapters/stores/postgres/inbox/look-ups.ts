import { MOST_COUNTED, MOST_LISTED } from '../../../../src/engine.ts'
import { DEAD, DELAYED, LAPSED, PARKED, READY, RUNNING, SUSPECT } from '../../inbox-lines.ts'
import { headsOf } from './lanes.ts'
import { ENTRY, NOW, type Pieces, REPLAY } from './pieces.ts'
import type { Names } from './tables.ts'

/** The statements for people, and for metrics. Only `get` reads a body. An item whose worker's lease has ended waits. */
export function makeLookUps({ items, bodies, workers }: Names, { body, itemsOf, lockOf, workersThat }: Pieces) {
  const args = `args AS MATERIALIZED (SELECT ${NOW} AS now)`
  const lives = `EXISTS (SELECT FROM ${workers} w WHERE w.number = i.position AND w.ends_at > ${NOW})`
  const running = (ends: '<=' | '>') =>
    `SELECT i.* FROM ${workersThat(ends)} w CROSS JOIN LATERAL ${itemsOf} OFFSET 0) i`
  const inState = (state: number) => `SELECT * FROM ${items} WHERE state = ${state}`
  const count = (rows: string) => `(SELECT count(*) FROM (${rows} LIMIT ${MOST_COUNTED}) counted)`
  const page = (rows: string) => `
WITH args AS MATERIALIZED (SELECT $1::bigint AS position, $2::bigint AS seq, $3::int AS most, ${NOW} AS now)
SELECT * FROM (
  SELECT ${ENTRY}, i.position, i.seq FROM (${rows}) i
  WHERE i.position >= (SELECT position FROM args) AND (i.position, i.seq) > (SELECT position, seq FROM args)
  ORDER BY i.position, i.seq LIMIT ${MOST_LISTED + 1}
) page LIMIT (SELECT most FROM args)`
  // As the trigger does it, but before the row is locked: others lock in this order.
  const locked = `locked AS MATERIALIZED (SELECT pg_advisory_xact_lock(${lockOf}) FROM ${items} WHERE key = $1 AND lane IS NOT NULL)`
  const isLocked = '(SELECT count(*) FROM locked) >= 0'
  return {
    /** Returns the entry with its body, the number of its state, and whether its worker's lease runs. */
    get: `SELECT ${ENTRY}, ${body}, i.state, ${lives}::text FROM ${items} i WHERE key = $1`,

    /** Returns the item for which the parked ones of a lane wait. */
    headOf: `SELECT ${ENTRY} FROM ${headsOf(items, '$1')} ORDER BY i.since LIMIT 1`,

    counts: `
WITH ${args}
SELECT ${[READY, DELAYED, SUSPECT, PARKED].map((state) => count(inState(state))).join(' + ')} + ${count(running('<='))},
  ${count(running('>'))}, ${count(inState(DEAD))}, least(
    (SELECT min(due_at) FROM (${inState(READY)} ORDER BY position LIMIT ${MOST_COUNTED}) i),
    (SELECT min(due_at) FROM (${inState(SUSPECT)} ORDER BY position LIMIT ${MOST_COUNTED}) i),
    (SELECT due_at FROM ${items} WHERE state = ${DELAYED} AND position <= (SELECT now FROM args) ORDER BY position LIMIT 1),
    (SELECT min(due_at) FROM (${running('<=')} LIMIT ${MOST_COUNTED}) i)),
  ${count(inState(PARKED))}, (SELECT due_at FROM ${items} WHERE state = ${PARKED} ORDER BY position LIMIT 1)
FROM args`,

    /** Pages of the items in each state, by its number, that begin behind a position and a `seq`. */
    pages: {
      [READY]: page(inState(READY)),
      [DELAYED]: page(inState(DELAYED)),
      [PARKED]: page(inState(PARKED)),
      [SUSPECT]: page(inState(SUSPECT)),
      [DEAD]: page(inState(DEAD)),
      [RUNNING]: page(running('>')),
      [LAPSED]: page(running('<=')),
    } as Readonly<Partial<Record<number, string>>>,

    replay: `
WITH ${locked}, revived AS (
  UPDATE ${items} SET ${REPLAY} WHERE ${isLocked} AND key = $1 AND state = ${DEAD} RETURNING 1
), hastened AS (
  UPDATE ${items} SET position = ${NOW}, due_at = ${NOW} WHERE key = $1 AND state = ${DELAYED} AND position > ${NOW} RETURNING 1
)
SELECT 1 FROM revived UNION ALL SELECT 1 FROM hastened`,

    drop: `
WITH ${locked}, gone AS (
  DELETE FROM ${items} i WHERE ${isLocked} AND key = $1 AND NOT (state = ${RUNNING} AND ${lives}) RETURNING seq
), dropped AS (
  DELETE FROM ${bodies} b USING gone WHERE b.seq = gone.seq
)
SELECT 1 FROM gone`,
  }
}

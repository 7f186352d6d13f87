import { MOST_COUNTED, MOST_LISTED } from '../../../../src/engine.ts'
import { DEAD, DELAYED, LAPSED, READY, RUNNING, SUSPECT } from '../../inbox-lines.ts'
import { ENTRY, NOW, type Pieces, REPLAY } from './pieces.ts'
import type { Names } from './tables.ts'

/** The statements for people, and for metrics. Only `get` reads a body. An item whose worker's lease has ended waits. */
export function makeLookUps({ items, bodies, workers }: Names, { body, itemsOf, workersThat }: Pieces) {
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
  return {
    /** Returns the entry with its body, the number of its state, and whether its worker's lease runs. */
    get: `SELECT ${ENTRY}, ${body}, i.state, ${lives}::text FROM ${items} i WHERE key = $1`,

    counts: `
WITH ${args}
SELECT ${[READY, DELAYED, SUSPECT].map((state) => count(inState(state))).join(' + ')} + ${count(running('<='))},
  ${count(running('>'))}, ${count(inState(DEAD))}, least(
    (SELECT min(due_at) FROM (${inState(READY)} ORDER BY position LIMIT ${MOST_COUNTED}) i),
    (SELECT min(due_at) FROM (${inState(SUSPECT)} ORDER BY position LIMIT ${MOST_COUNTED}) i),
    (SELECT due_at FROM ${items} WHERE state = ${DELAYED} AND position <= (SELECT now FROM args) ORDER BY position LIMIT 1),
    (SELECT min(due_at) FROM (${running('<=')} LIMIT ${MOST_COUNTED}) i))
FROM args`,

    /** Pages of the items in each state, by its number, that begin behind a position and a `seq`. */
    pages: {
      [READY]: page(inState(READY)),
      [DELAYED]: page(inState(DELAYED)),
      [SUSPECT]: page(inState(SUSPECT)),
      [DEAD]: page(inState(DEAD)),
      [RUNNING]: page(running('>')),
      [LAPSED]: page(running('<=')),
    } as Readonly<Partial<Record<number, string>>>,

    replay: `UPDATE ${items} SET ${REPLAY} WHERE key = $1 AND state = ${DEAD} RETURNING 1`,

    drop: `
WITH gone AS (
  DELETE FROM ${items} i WHERE key = $1 AND NOT (state = ${RUNNING} AND ${lives}) RETURNING seq
), dropped AS (
  DELETE FROM ${bodies} b USING gone WHERE b.seq = gone.seq
)
SELECT 1 FROM gone`,
  }
}

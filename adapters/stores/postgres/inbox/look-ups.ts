import { DEAD, DELAYED, LAPSED, PARKED, READY, RUNNING, SUSPECT } from '../../inbox-lines.ts'

const page = (rows: string) => `
WITH args AS MATERIALIZED (SELECT $1::bigint AS position, $2::bigint AS seq, $3::int AS most, @NOW AS now)
SELECT * FROM (
  SELECT @ENTRY, i.position, i.seq FROM (${rows}) i
  WHERE i.position >= (SELECT position FROM args) AND (i.position, i.seq) > (SELECT position, seq FROM args)
  ORDER BY i.position, i.seq LIMIT @MOST_READ
) page LIMIT (SELECT most FROM args)`

const inState = (state: number) => [state, page(`SELECT * FROM @items WHERE state = ${state}`)]

/** Pages of the items in each state, by its number, that begin behind a position and a `seq`. */
export const PAGES: Readonly<Record<number, string>> = {
  [RUNNING]: page('@LEASED'),
  [LAPSED]: page('@LAPSED'),
  ...Object.fromEntries([READY, DELAYED, PARKED, SUSPECT, DEAD].map(inState)),
}

/** The statements for people, and for metrics. Only `get` reads a body. An item whose worker's lease has ended waits. */
export const LOOK_UPS = {
  /** Returns the entry with its body, the number of its state, and whether its worker's lease runs. */
  get: 'SELECT @ENTRY, @BODY, i.state, @LIVES::text FROM @items i WHERE key = $1',

  /** Returns the item for which the parked ones of a lane wait. */
  headOf:
    'SELECT @ENTRY FROM @items i WHERE i.lane = $1 AND i.state IN (@READY, @DELAYED, @RUNNING, @SUSPECT) ORDER BY i.since LIMIT 1',

  counts: `
WITH args AS MATERIALIZED (SELECT @NOW AS now)
SELECT (SELECT count(*) FROM (SELECT * FROM @items WHERE state = @READY LIMIT @MOST_COUNTED) counted)
    + (SELECT count(*) FROM (SELECT * FROM @items WHERE state = @DELAYED LIMIT @MOST_COUNTED) counted)
    + (SELECT count(*) FROM (SELECT * FROM @items WHERE state = @SUSPECT LIMIT @MOST_COUNTED) counted)
    + (SELECT count(*) FROM (SELECT * FROM @items WHERE state = @PARKED LIMIT @MOST_COUNTED) counted)
    + (SELECT count(*) FROM (@LAPSED LIMIT @MOST_COUNTED) counted),
  (SELECT count(*) FROM (@LEASED LIMIT @MOST_COUNTED) counted),
  (SELECT count(*) FROM (SELECT * FROM @items WHERE state = @DEAD LIMIT @MOST_COUNTED) counted),
  least(
    (SELECT min(due_at) FROM (SELECT * FROM @items WHERE state = @READY ORDER BY position LIMIT @MOST_COUNTED) i),
    (SELECT min(due_at) FROM (SELECT * FROM @items WHERE state = @SUSPECT ORDER BY position LIMIT @MOST_COUNTED) i),
    (SELECT due_at FROM @items WHERE state = @DELAYED AND position <= (SELECT now FROM args) ORDER BY position LIMIT 1),
    (SELECT min(due_at) FROM (@LAPSED LIMIT @MOST_COUNTED) i)),
  (SELECT count(*) FROM (SELECT * FROM @items WHERE state = @PARKED LIMIT @MOST_COUNTED) counted),
  (SELECT due_at FROM @items WHERE state = @PARKED ORDER BY position LIMIT 1)
FROM args`,

  replay: `
WITH @LOCKED, revived AS (
  UPDATE @items SET @REPLAY WHERE (SELECT count(*) FROM locked) >= 0 AND key = $1 AND state = @DEAD RETURNING 1
), hastened AS (
  UPDATE @items SET position = @NOW, due_at = @NOW WHERE key = $1 AND state = @DELAYED AND position > @NOW RETURNING 1
)
SELECT 1 FROM revived UNION ALL SELECT 1 FROM hastened`,

  drop: `
WITH @LOCKED, gone AS (
  DELETE FROM @items i WHERE (SELECT count(*) FROM locked) >= 0 AND key = $1 AND NOT (state = @RUNNING AND @LIVES) RETURNING seq
), dropped AS (
  DELETE FROM @bodies b USING gone WHERE b.seq = gone.seq
)
SELECT 1 FROM gone`,
}

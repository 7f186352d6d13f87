export const LEASES = {
  /**
   * Renews the lease of a worker and returns its number. If the lease had ended, the worker still has what no other one has taken, and has
   * caused no loss.
   */
  renew: `
WITH args AS MATERIALIZED (SELECT $1::text AS worker, $2::bigint AS lease, @NOW AS now), late AS MATERIALIZED (
  SELECT number FROM @workers WHERE worker = (SELECT worker FROM args) AND ends_at <= (SELECT now FROM args)
), lost AS MATERIALIZED (
  SELECT * FROM @items WHERE lost_by = (SELECT number FROM late) FOR UPDATE
), revived AS (
  INSERT INTO @items AS i (@REQUIRED) SELECT @REQUIRED FROM lost
  ON CONFLICT (key) DO UPDATE SET state = CASE i.state WHEN @DEAD THEN @DEAD ELSE @RUNNING END,
    position = CASE WHEN i.state IN (@RUNNING, @DEAD) THEN i.position ELSE i.lost_by END,
    losses = i.losses - 1, deaths = i.deaths - i.was_alone::int, lost_by = NULL
)
INSERT INTO @workers (worker, renewed_at, ends_at) SELECT worker, now, now + lease FROM args
ON CONFLICT (worker) DO UPDATE SET renewed_at = excluded.renewed_at, ends_at = excluded.ends_at
RETURNING number`,

  /** Makes items wait whose worker's lease ended. Takes the name of the worker that asks: it is alive, whatever delayed it. */
  endLeases: `
WITH args AS MATERIALIZED (SELECT $1::text AS worker, @NOW AS now), ended AS MATERIALIZED (
  SELECT * FROM (SELECT * FROM @workers w WHERE ends_at <= (SELECT now FROM args) AND EXISTS (SELECT * FROM @items i WHERE i.state = @RUNNING AND i.position = w.number OFFSET 0)
  ORDER BY ends_at  LIMIT @MOST_WORKERS) w WHERE worker <> (SELECT worker FROM args)
), lost AS MATERIALIZED (
  SELECT i.*, w.renewed_at, w.alone FROM ended w CROSS JOIN LATERAL (SELECT * FROM @items i WHERE i.state = @RUNNING AND i.position = w.number LIMIT @BATCH FOR UPDATE SKIP LOCKED) i LIMIT @BATCH
)
INSERT INTO @items AS i (@REQUIRED) SELECT @REQUIRED FROM lost
  ON CONFLICT (key) DO UPDATE SET state = CASE i.losses WHEN 0 THEN @DELAYED ELSE @SUSPECT END,
  position = CASE i.losses WHEN 0 THEN i.due_at ELSE (SELECT now FROM args) END,
  ran_for = (SELECT greatest(renewed_at - i.taken_at, 0) FROM ended WHERE number = i.position),
  was_alone = (SELECT alone IS NOT DISTINCT FROM i.key FROM ended WHERE number = i.position),
  deaths = i.deaths + (SELECT alone IS NOT DISTINCT FROM i.key FROM ended WHERE number = i.position)::int,
  losses = i.losses + 1, lost_by = i.position, awaited_by = NULL
RETURNING 1`,

  /** Remembers workers that items name and that are not known, as after a restore of rows, as dead: their items wait then. */
  adoptUnknown: `
INSERT INTO @workers (number, worker, renewed_at, ends_at)
SELECT DISTINCT position, 'unknown:' || position, @NOW, @NOW FROM @items i
WHERE state = @RUNNING AND NOT EXISTS (SELECT FROM @workers w WHERE w.number = i.position)
ON CONFLICT DO NOTHING`,

  /** Returns the keys of the items that a worker holds, and when it took them. */
  held: `SELECT key, taken_at FROM @items WHERE state = @RUNNING AND position = $1`,

  sweepWorkers: `
WITH args AS MATERIALIZED (SELECT @NOW - @WORKER_KEPT AS now)
DELETE FROM @workers WHERE number = ANY (ARRAY(
  SELECT number FROM (SELECT * FROM @workers w WHERE ends_at <= (SELECT now FROM args) AND NOT EXISTS (SELECT * FROM @items i WHERE i.state = @RUNNING AND i.position = w.number OFFSET 0)
  ORDER BY ends_at  LIMIT @MOST_WORKERS) w
))`,

  /** Deletes the row of a worker that has ended, unless it holds items. */
  leave: `DELETE FROM @workers w WHERE number = $1 AND NOT EXISTS (SELECT * FROM @items i WHERE i.state = @RUNNING AND i.position = w.number OFFSET 0)`,
}

import { busy, isFree } from './pieces.ts'

export const TAKES = {
  /**
   * Takes the next ready items, unless a suspect is due that the worker asks for: as many as fit into so many bytes, at least one. Returns a
   * row with the worker's number if its lease runs, whether a suspect is due, the first positions, the time, and how many did not fit; a row
   * for each item; and rows with keys and accounts of due items.
   */
  take: `
WITH args AS MATERIALIZED (
  SELECT $1::text AS worker, $2::int AS most, $3::bigint AS start, $4::bigint AS due_start, $5::boolean AS asks, $6::bigint AS bytes, @NOW AS now, @ASYNC
), @ME, suspect AS MATERIALIZED (
  SELECT FROM @items WHERE state = @SUSPECT LIMIT 1
), picked AS MATERIALIZED (
  SELECT * FROM (
    SELECT * FROM @items WHERE state = @READY AND position >= (SELECT start FROM args)
      AND EXISTS (SELECT FROM me) AND NOT (EXISTS (SELECT FROM suspect) AND (SELECT asks FROM args))
    ORDER BY position LIMIT @MOST_TAKEN FOR UPDATE SKIP LOCKED
  ) i LIMIT (SELECT most FROM args)
), weighed AS MATERIALIZED (
  SELECT p.*, sum(@SIZE) OVER (ORDER BY position, seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM picked p
), fitting AS MATERIALIZED (
  SELECT * FROM weighed WHERE coalesce(before, 0) < (SELECT bytes FROM args)
), taken AS (
  INSERT INTO @items AS i (@REQUIRED) SELECT @REQUIRED FROM fitting
  ON CONFLICT (key) DO UPDATE SET state = @RUNNING, position = (SELECT number FROM me), taken_at = (SELECT now FROM args) RETURNING i.*
), due AS MATERIALIZED (
  SELECT key, account, position FROM @items
  WHERE state = @DELAYED AND position >= (SELECT due_start FROM args) AND position <= (SELECT now FROM args)
  ORDER BY position LIMIT @BATCH
)
SELECT 'turn', (SELECT number FROM me)::text, EXISTS (SELECT FROM suspect)::text, (SELECT min(position) FROM picked)::text,
  (SELECT min(position) FROM due)::text, now, @IS_LARGE,
  (SELECT count(*) FROM picked) - (SELECT count(*) FROM fitting), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM args
UNION ALL SELECT 'item', @ENTRY, @BODY, i.taken_at FROM taken i
UNION ALL SELECT 'due', key, account, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM due`,

  /** Takes a suspect, unless another one runs alone. */
  takeSuspect: `
WITH args AS MATERIALIZED (SELECT $1::text AS worker, @NOW AS now), @ME, @NEXT_SUSPECT, taken AS (
  INSERT INTO @items AS i (@REQUIRED) SELECT @REQUIRED FROM suspect
  ON CONFLICT (key) DO UPDATE SET state = @RUNNING, position = (SELECT number FROM me), taken_at = (SELECT now FROM args) RETURNING i.*
), marked AS (
  UPDATE @workers SET alone = (SELECT key FROM taken) WHERE worker = (SELECT worker FROM args) AND EXISTS (SELECT FROM taken)
)
SELECT @ENTRY, @BODY, i.taken_at, i.ran_for FROM taken i`,

  /** Returns a row if this worker is the one that makes room for the next suspect. */
  awaitSuspect: `
WITH args AS MATERIALIZED (SELECT $1::text AS worker, $2::bigint AS lease, @NOW AS now), @ME, @NEXT_SUSPECT, free AS MATERIALIZED (
  SELECT * FROM suspect WHERE awaited_by IS NULL OR taken_at < (SELECT now - lease FROM args)
), awaited AS (
  INSERT INTO @items AS i (@REQUIRED) SELECT @REQUIRED FROM free
  ON CONFLICT (key) DO UPDATE SET awaited_by = (SELECT number FROM me), taken_at = (SELECT now FROM args) RETURNING 1
)
SELECT 1 FROM awaited UNION ALL SELECT 1 FROM suspect WHERE awaited_by = (SELECT number FROM me)`,

  join: `UPDATE @workers SET alone = NULL WHERE worker = $1`,
}

export const PROMOTIONS = {
  /** Makes delayed items ready. Takes keys, the last turns of their accounts, and numbers behind these. Returns a row of the next turn. */
  promote: `
WITH args AS MATERIALIZED (
  SELECT $1::text[] AS keys, $2::bigint[] AS turns, $3::int[] AS nths, $4::bigint AS hint, @NOW AS now
), given AS MATERIALIZED (
  SELECT g.* FROM args, unnest(keys, turns, nths) AS g (key, turn, nth)
), @NEXT, due AS MATERIALIZED (
  SELECT i.*, @TURN AS place FROM given CROSS JOIN next CROSS JOIN LATERAL (
    SELECT * FROM @items i WHERE i.key = given.key AND i.state = @DELAYED AND i.position <= next.now FOR UPDATE SKIP LOCKED
  ) i
), ${busy('SELECT away AS lane FROM due')}, promoted AS (
  INSERT INTO @items AS i (@REQUIRED) SELECT @REQUIRED FROM due WHERE ${isFree('away')}
  ON CONFLICT (key) DO UPDATE SET state = CASE WHEN i.losses > 1 THEN @SUSPECT ELSE @READY END,
    position = CASE WHEN i.losses > 1 THEN i.due_at ELSE (SELECT place FROM due WHERE due.key = i.key) END
)
@NEXT_ROW`,

  /** Returns keys and accounts of due items: a few of each account behind the given one, and a row without a key for one that has none. */
  dueByAccount: `
WITH RECURSIVE args AS MATERIALIZED (SELECT $1::text AS account, @NOW AS now), accounts AS (
  (SELECT account FROM @items WHERE state = @DELAYED AND account > (SELECT account FROM args) ORDER BY account, position LIMIT 1)
  UNION ALL
  SELECT i.account FROM accounts a CROSS JOIN LATERAL (
    SELECT account FROM @items i WHERE i.state = @DELAYED AND i.account > a.account ORDER BY i.account, i.position LIMIT 1
  ) i
)
SELECT i.key, a.account FROM (SELECT account FROM accounts LIMIT @BATCH) a LEFT JOIN LATERAL (
  SELECT key FROM @items i WHERE i.state = @DELAYED AND i.account = a.account AND i.position <= (SELECT now FROM args)
  ORDER BY i.position LIMIT @BATCH_OF_ACCOUNT
) i ON true`,
}

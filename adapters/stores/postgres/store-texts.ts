/**
 * Takes keys, tokens and lengths of leases, and keys of positions. Returns a row for each key that existed before: its marks if it was free,
 * otherwise what it was completed with if it is done; and a row for each stored position. Nothing here waits for a row that another transaction has locked: such a key is busy, and is not among the keys that are
 * inserted, since an INSERT waits for a row that is being changed. If the table was locked for so long that the callers have given up,
 * nothing is claimed: the transaction is older then, and the only row has no key.
 */
export const CLAIM = `
WITH wanted AS MATERIALIZED (
  SELECT * FROM unnest($1::text[], $2::text[], $3::float8[]) AS w (key, token, lease)
  WHERE (SELECT @NOW < now() + interval '@STORE_LIMIT_MS ms')
), fresh AS (
  INSERT INTO @claims @LEASED
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
  INSERT INTO @claims AS c @LEASED
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
export const SETTLE = `
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
  @PLACED
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

/** Returns a row if the event was known. Does not wait for a row that another transaction has locked: it is being settled. */
export const FORGET = `
WITH gone AS (
  DELETE FROM @claims WHERE key = (
    SELECT key FROM @claims WHERE key = $1 AND (ends_at IS NULL OR ends_at <= @NOW) FOR UPDATE SKIP LOCKED
  ) RETURNING done, marks, kept_until
)
SELECT 1 FROM gone WHERE kept_until > @NOW AND (done OR marks <> '{}')`

/** Returns a row for each removed row. Does not wait for a lock of the table: its caller would have given up. */
export const SWEEP = `
SET LOCAL lock_timeout = '1s';
DELETE FROM @claims WHERE key = ANY (ARRAY(
  SELECT key FROM @claims WHERE swept_after < now() AND (ends_at IS NULL OR ends_at < now())
  ORDER BY swept_after LIMIT @SWEEP_SIZE FOR UPDATE SKIP LOCKED
)) RETURNING 1`

import { LANES_AFTER } from './lanes.ts'

/** Bodies have a table of their own: a row is written often, and its body once. */
export const TABLES = `CREATE TABLE IF NOT EXISTS @table (
  seq INTEGER PRIMARY KEY, -- of its body, too
  key TEXT NOT NULL UNIQUE,
  account TEXT NOT NULL,
  id TEXT NOT NULL,
  type TEXT NOT NULL,
  received_at INTEGER NOT NULL,
  source TEXT,
  trace TEXT,
  since INTEGER NOT NULL,
  state INTEGER NOT NULL,
  position INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  delay INTEGER NOT NULL DEFAULT 0,
  is_bodiless INTEGER NOT NULL DEFAULT 0, -- its body could not be read, and cannot be deleted
  worker TEXT,
  taken_at INTEGER,
  ran_ms INTEGER,
  is_alone INTEGER NOT NULL DEFAULT 0,
  lost_by TEXT,
  was_alone INTEGER NOT NULL DEFAULT 0,
  losses INTEGER NOT NULL DEFAULT 0,
  deaths INTEGER NOT NULL DEFAULT 0,
  failures INTEGER NOT NULL DEFAULT 0,
  marks TEXT,
  tries TEXT,
  lane TEXT,
  away TEXT -- the lane that it left until it is due
);
CREATE INDEX IF NOT EXISTS @table_order ON @table (state, position);
CREATE INDEX IF NOT EXISTS @table_delayed ON @table (account, position) WHERE state = @DELAYED;
CREATE INDEX IF NOT EXISTS @table_lost ON @table (lost_by) WHERE lost_by IS NOT NULL;
CREATE TABLE IF NOT EXISTS @table_bodies (seq INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
CREATE TRIGGER IF NOT EXISTS @table_gone AFTER DELETE ON @table WHEN OLD.is_bodiless = 0 BEGIN
  DELETE FROM @table_bodies WHERE seq = OLD.seq;
END`

export const LANE_INDEX =
  'CREATE INDEX IF NOT EXISTS @table_lane ON @table (lane, state, position) WHERE lane IS NOT NULL'

export const STEPS = {
  nextTurn: `SELECT position FROM @table WHERE state = @READY ORDER BY position LIMIT 1`,
  // The number of a row without a body, or of a body without a row, is not used again: a file that was repaired may have them.
  insert: `INSERT INTO @table (seq, key, account, id, type, received_at, source, trace, lane, since, state, position, due_at)
      VALUES (1 + max((SELECT coalesce(max(seq), 0) FROM @table), (SELECT coalesce(max(seq), 0) FROM @table_bodies)), ?, ?, ?, ?, ?, ?, ?, ?, ?, @READY, ?, ?)
      ON CONFLICT (key) DO NOTHING`,
  insertBody: `INSERT INTO @table_bodies (seq, bytes) SELECT seq, ? FROM @table WHERE key = ?`,
  // The worker that asks is excluded: it is alive, whatever delayed it.
  endLeases: `UPDATE @table SET state = CASE losses WHEN 0 THEN @DELAYED ELSE @SUSPECT END,
      position = CASE losses WHEN 0 THEN due_at ELSE ? END, ran_ms = max(position - ? - taken_at, 0), losses = losses + 1,
      deaths = deaths + is_alone, was_alone = is_alone, is_alone = 0, lost_by = worker, worker = NULL
      WHERE seq IN (SELECT seq FROM @table WHERE state = @RUNNING AND worker IS NOT ? AND (position < ? OR position > ?) LIMIT ?)`,
  // Nobody took it, so that it runs on; or another worker runs it as well.
  revive: `UPDATE @table SET position = CASE state WHEN @RUNNING THEN position ELSE ? END,
      worker = CASE state WHEN @RUNNING THEN worker ELSE lost_by END,
      is_alone = CASE state WHEN @RUNNING THEN is_alone ELSE was_alone END,
      state = @RUNNING, losses = losses - 1, deaths = deaths - was_alone, lost_by = NULL
      WHERE lost_by = ? AND key = coalesce(?, key)`,
  bringForward: `UPDATE @table SET position = ? + delay, due_at = ? + delay
      WHERE seq IN (SELECT seq FROM @table WHERE state = @DELAYED AND position > ? AND position - delay > ? LIMIT ?)`,
  due: `SELECT seq FROM @table WHERE state = @DELAYED AND position <= ? ORDER BY position LIMIT ?`,
  dueByAccount: `WITH RECURSIVE accounts (account) AS (
        SELECT min(account) FROM @table INDEXED BY @table_delayed WHERE state = @DELAYED AND account > ? UNION ALL
        SELECT (SELECT min(account) FROM @table INDEXED BY @table_delayed WHERE state = @DELAYED AND account > a.account)
        FROM accounts a WHERE a.account IS NOT NULL LIMIT ?)
      SELECT i.seq, a.account FROM accounts a LEFT JOIN @table i ON i.seq IN (SELECT seq FROM @table
        WHERE state = @DELAYED AND account = a.account AND position <= ? ORDER BY position LIMIT ?)
      WHERE a.account IS NOT NULL`,
  rowOf: `SELECT * FROM @table WHERE seq = ?`,
  makeReady: `UPDATE @table SET state = CASE WHEN losses > 1 THEN @SUSPECT ELSE @READY END,
      position = CASE WHEN losses > 1 THEN due_at ELSE ? END WHERE seq = ?`,
  nextSuspect: `SELECT seq, worker, taken_at, ran_ms FROM @table WHERE state = @SUSPECT ORDER BY position LIMIT 1`,
  isOneAlone: `SELECT 1 FROM @table WHERE state = @RUNNING AND position >= ? AND is_alone = 1 LIMIT 1`,
  awaitSuspect: `UPDATE @table SET worker = ?, taken_at = ? WHERE seq = ?`,
  ready: `SELECT seq FROM @table WHERE state = @READY ORDER BY position LIMIT ?`,
  start: `UPDATE @table SET state = @RUNNING, position = ?, worker = ?, taken_at = ?, is_alone = ?, is_bodiless = 0
      WHERE seq = ? RETURNING *`,
  body: 'SELECT bytes FROM @table_bodies WHERE seq = ?',
  setAside: `UPDATE @table SET is_bodiless = 1, state = @DEAD, position = ?, due_at = ?, tries = ?, worker = NULL, is_alone = 0, lost_by = NULL WHERE seq = ?`,
  detach: `UPDATE @table SET is_bodiless = 1 WHERE key = ?`,
  renew: `UPDATE @table SET position = ? WHERE state = @RUNNING AND worker = ?`,
  join: `UPDATE @table SET is_alone = 0 WHERE state = @RUNNING AND worker = ? AND is_alone = 1`,
  remove: `DELETE FROM @table WHERE key = ? AND state = @RUNNING AND worker = ?`,
  putOff: `UPDATE @table SET state = @DELAYED, position = ?, due_at = ?, delay = ?, failures = failures + ?, tries = ?,
      losses = losses * ?, deaths = deaths * ?, worker = NULL, is_alone = 0, lost_by = NULL, away = CASE ? WHEN 1 THEN lane END, lane = CASE ? WHEN 0 THEN lane END WHERE key = ? AND state = @RUNNING AND worker = ?`,
  giveBack: `UPDATE @table SET state = @DELAYED, position = ?, due_at = ?, delay = 0, worker = NULL, is_alone = 0, lost_by = NULL WHERE key = ? AND state = @RUNNING AND worker = ?`,
  bury: `UPDATE @table SET state = @DEAD, position = ?, due_at = ?, marks = ?, tries = ?, worker = NULL, is_alone = 0, lost_by = NULL WHERE key = ? AND state = @RUNNING AND worker = ?`,
  reviveDead: `UPDATE @table SET state = @DELAYED, position = ?, due_at = ?, delay = 0, since = ?, failures = 0, losses = 0, deaths = 0
      WHERE key = ? AND state = @DEAD`,
  hasten: `UPDATE @table SET position = ?, due_at = ?, delay = 0 WHERE key = ? AND state = @DELAYED AND position > ?`,
  drop: `DELETE FROM @table WHERE key = ? AND NOT (state = @RUNNING AND position >= ?)`,
  lanes: LANES_AFTER,
  release: 'UPDATE @table SET state = @DELAYED, position = 0 WHERE seq = ?',
  sweepDead: `DELETE FROM @table WHERE seq IN (SELECT seq FROM @table WHERE state = @DEAD AND position < ? LIMIT ?)`,
}

export const READS = {
  get: `SELECT * FROM @table WHERE key = ?`,
  count: `SELECT count(*) AS count FROM (SELECT 1 FROM @table WHERE state = ? AND position BETWEEN ? AND ? LIMIT ?)`,
  oldest: `SELECT min(due_at) AS due_at FROM (
      SELECT * FROM (SELECT due_at FROM @table WHERE state = @READY ORDER BY position LIMIT ?) UNION ALL
      SELECT * FROM (SELECT due_at FROM @table WHERE state = @SUSPECT LIMIT ?) UNION ALL
      SELECT * FROM (SELECT due_at FROM @table WHERE state = @DELAYED AND position <= ? ORDER BY position LIMIT 1) UNION ALL
      SELECT due_at FROM @table WHERE state = @RUNNING AND position < ?)`,
  oldestParked: `SELECT due_at FROM @table WHERE state = @PARKED ORDER BY position LIMIT 1`,
  headOf: 'SELECT key FROM @table h WHERE h.lane = ? AND h.state IN (@READY, @DELAYED, @RUNNING, @SUSPECT)',
  page: `SELECT * FROM @table WHERE state = ? AND position BETWEEN ? AND ? AND (position, seq) > (?, ?) ORDER BY position, seq LIMIT ?`,
  body: 'SELECT bytes FROM @table_bodies WHERE seq = ?',
}

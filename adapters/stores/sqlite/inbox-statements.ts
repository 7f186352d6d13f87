import { ConfigurationError } from '../../../src/engine.ts'
import { forTable, prepareAll, type SqliteDatabase } from './database.ts'
import { headOf, LANE_PARTS, LANES_AFTER, RELEASE } from './lanes.ts'

/** The endings of the names of what belongs to the table of items: its indexes and triggers. */
const PARTS = ['_order', '_delayed', '_lost', '_gone', ...LANE_PARTS]

const LANE_INDEX = 'CREATE INDEX IF NOT EXISTS @table_lane ON @table (lane, state, position) WHERE lane IS NOT NULL'

/** Creates what is missing, beside other processes that do the same. A table that was renamed keeps the names of its indexes and triggers, which cannot be created then. */
export function createTables(database: SqliteDatabase, name: string): void {
  database.exec(forTable(name, TABLES))
  const lacksLanes = () => database.pragma(`table_info(${name})`).every((column) => column.name !== 'away')
  const addLanes = () => {
    if (lacksLanes())
      database.exec(forTable(name, 'ALTER TABLE @table ADD COLUMN lane TEXT; ALTER TABLE @table ADD COLUMN away TEXT'))
  }
  if (lacksLanes()) database.transaction(addLanes)
  database.exec(forTable(name, LANE_INDEX))
  const names = PARTS.map((ending) => `lower('${name}${ending}')`)
  const [part] = database
    .prepare(
      `SELECT type, name, tbl_name FROM sqlite_master WHERE lower(name) IN (${names.join(', ')}) AND lower(tbl_name) <> lower(?)`,
    )
    .all(name)
  if (part === undefined) return
  const drop = `DROP ${String(part.type).toUpperCase()} ${String(part.name)}`
  throw new ConfigurationError(
    'database_unusable',
    `sqliteInbox cannot create ${String(part.type)} ${String(part.name)}: that of the table ${String(part.tbl_name)} has the name, as after ALTER TABLE … RENAME. Run ${drop}, and start the app again.`,
  )
}

/** Bodies have a table of their own: a row is written often, and its body once. */
const TABLES = `CREATE TABLE IF NOT EXISTS @table (
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

export function prepareSteps(database: SqliteDatabase, name: string) {
  const some = (where: string) => `seq IN (SELECT seq FROM @table WHERE ${where} LIMIT ?)`
  const free = 'worker = NULL, is_alone = 0, lost_by = NULL'
  const held = `key = ? AND state = @RUNNING AND worker = ?`
  return prepareAll(database, name, {
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
      WHERE ${some(`state = @RUNNING AND worker IS NOT ? AND (position < ? OR position > ?)`)}`,
    // Nobody took it, so that it runs on; or another worker runs it as well.
    revive: `UPDATE @table SET position = CASE state WHEN @RUNNING THEN position ELSE ? END,
      worker = CASE state WHEN @RUNNING THEN worker ELSE lost_by END,
      is_alone = CASE state WHEN @RUNNING THEN is_alone ELSE was_alone END,
      state = @RUNNING, losses = losses - 1, deaths = deaths - was_alone, lost_by = NULL
      WHERE lost_by = ? AND key = coalesce(?, key)`,
    bringForward: `UPDATE @table SET position = ? + delay, due_at = ? + delay
      WHERE ${some(`state = @DELAYED AND position > ? AND position - delay > ?`)}`,
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
    body: BODY,
    setAside: `UPDATE @table SET is_bodiless = 1, state = @DEAD, position = ?, due_at = ?, tries = ?, ${free} WHERE seq = ?`,
    detach: `UPDATE @table SET is_bodiless = 1 WHERE key = ?`,
    renew: `UPDATE @table SET position = ? WHERE state = @RUNNING AND worker = ?`,
    join: `UPDATE @table SET is_alone = 0 WHERE state = @RUNNING AND worker = ? AND is_alone = 1`,
    remove: `DELETE FROM @table WHERE ${held}`,
    putOff: `UPDATE @table SET state = @DELAYED, position = ?, due_at = ?, delay = ?, failures = failures + ?, tries = ?,
      losses = losses * ?, deaths = deaths * ?, ${free}, away = CASE ? WHEN 1 THEN lane END, lane = CASE ? WHEN 0 THEN lane END WHERE ${held}`,
    giveBack: `UPDATE @table SET state = @DELAYED, position = ?, due_at = ?, delay = 0, ${free} WHERE ${held}`,
    bury: `UPDATE @table SET state = @DEAD, position = ?, due_at = ?, marks = ?, tries = ?, ${free} WHERE ${held}`,
    reviveDead: `UPDATE @table SET state = @DELAYED, position = ?, due_at = ?, delay = 0, since = ?, failures = 0, losses = 0, deaths = 0
      WHERE key = ? AND state = @DEAD`,
    hasten: `UPDATE @table SET position = ?, due_at = ?, delay = 0 WHERE key = ? AND state = @DELAYED AND position > ?`,
    drop: `DELETE FROM @table WHERE key = ? AND NOT (state = @RUNNING AND position >= ?)`,
    lanes: LANES_AFTER,
    release: `${RELEASE} seq = ?`,
    sweepDead: `DELETE FROM @table WHERE ${some(`state = @DEAD AND position < ?`)}`,
  })
}

export function prepareReads(database: SqliteDatabase, name: string) {
  const inLine = 'state = ? AND position BETWEEN ? AND ?'
  return prepareAll(database, name, {
    get: `SELECT * FROM @table WHERE key = ?`,
    count: `SELECT count(*) AS count FROM (SELECT 1 FROM @table WHERE ${inLine} LIMIT ?)`,
    oldest: `SELECT min(due_at) AS due_at FROM (
      SELECT * FROM (SELECT due_at FROM @table WHERE state = @READY ORDER BY position LIMIT ?) UNION ALL
      SELECT * FROM (SELECT due_at FROM @table WHERE state = @SUSPECT LIMIT ?) UNION ALL
      SELECT * FROM (SELECT due_at FROM @table WHERE state = @DELAYED AND position <= ? ORDER BY position LIMIT 1) UNION ALL
      SELECT due_at FROM @table WHERE state = @RUNNING AND position < ?)`,
    oldestParked: `SELECT due_at FROM @table WHERE state = @PARKED ORDER BY position LIMIT 1`,
    headOf: `SELECT key FROM ${headOf('?')}`,
    page: `SELECT * FROM @table WHERE ${inLine} AND (position, seq) > (?, ?) ORDER BY position, seq LIMIT ?`,
    body: BODY,
  })
}

const BODY = `SELECT bytes FROM @table_bodies WHERE seq = ?`

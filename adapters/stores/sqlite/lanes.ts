/** The rows of a lane that keep the others of it parked: one, or none. */
const headOf = (lane: string) => `@table h WHERE h.lane = ${lane} AND h.state IN (@READY, @DELAYED, @RUNNING, @SUSPECT)`

/** The number of the item of a lane that is next. */
const nextOf = (lane: string) =>
  `(SELECT seq FROM @table WHERE lane = ${lane} AND state = @PARKED ORDER BY position LIMIT 1)`

/** Makes a parked item due by any clock. Its account's turn is assigned like that of a retry. */
const RELEASE = 'UPDATE @table SET state = @DELAYED, position = 0 WHERE'

/** Returns so many lanes behind one, each with the number of its next item if nothing else will release that. */
export const LANES_AFTER = `WITH RECURSIVE lanes (lane) AS (
    SELECT min(lane) FROM @table INDEXED BY @table_lane WHERE lane > ? UNION ALL
    SELECT (SELECT min(lane) FROM @table INDEXED BY @table_lane WHERE lane > l.lane) FROM lanes l WHERE l.lane IS NOT NULL LIMIT ?)
  SELECT l.lane, CASE WHEN NOT EXISTS (SELECT 1 FROM ${headOf('l.lane')}) THEN ${nextOf('l.lane')} END AS seq
  FROM lanes l WHERE l.lane IS NOT NULL`

/** The endings of the names of the index of lanes and of the triggers. */
export const LANE_PARTS = ['_lane', '_entered', '_revived', '_returned', '_left', '_buried', '_passed']

const IS_HEAD = 'OLD.lane IS NOT NULL AND OLD.state NOT IN (@DEAD, @PARKED)'
const isBehind = (lane: string) => `EXISTS (SELECT 1 FROM ${headOf(lane)} AND h.seq <> NEW.seq)`
/** Behind the last one, even if the clock was set back. */
const ENTER = `UPDATE @table SET state = @PARKED, position = max(due_at, 1 + coalesce((
    SELECT position FROM @table p WHERE p.lane = NEW.lane AND p.state = @PARKED ORDER BY p.position DESC LIMIT 1), 0))
  WHERE seq = NEW.seq AND ${isBehind('NEW.lane')}`
const LEAVE = `${RELEASE} seq = ${nextOf('OLD.lane')} AND NOT EXISTS (SELECT 1 FROM ${headOf('OLD.lane')})`

/**
 * A lane has one item that is ready, delayed, running or a suspect; the others are parked behind it. Triggers keep that true for whatever
 * adds, revives or removes items, such as a process of an older version. They are created with the first item that has a lane: each costs 3 % of
 * accepting an event, even if it does nothing.
 */
export const LANES = `
CREATE TRIGGER IF NOT EXISTS @table_entered AFTER INSERT ON @table
  WHEN NEW.lane IS NOT NULL AND NEW.state <> @DEAD BEGIN ${ENTER}; END;
CREATE TRIGGER IF NOT EXISTS @table_revived AFTER UPDATE OF state ON @table
  WHEN NEW.lane IS NOT NULL AND OLD.state = @DEAD AND NEW.state <> @DEAD BEGIN ${ENTER}; END;
CREATE TRIGGER IF NOT EXISTS @table_returned AFTER UPDATE OF state ON @table
  WHEN NEW.away IS NOT NULL AND NEW.state IN (@READY, @SUSPECT) BEGIN
  UPDATE @table SET lane = away, away = NULL WHERE seq = NEW.seq;
  UPDATE @table SET state = @PARKED, position = since WHERE seq = NEW.seq AND ${isBehind('NEW.away')};
END;
CREATE TRIGGER IF NOT EXISTS @table_left AFTER DELETE ON @table WHEN ${IS_HEAD} BEGIN ${LEAVE}; END;
CREATE TRIGGER IF NOT EXISTS @table_buried AFTER UPDATE OF state ON @table
  WHEN ${IS_HEAD} AND NEW.state = @DEAD BEGIN ${LEAVE}; END;
CREATE TRIGGER IF NOT EXISTS @table_passed AFTER UPDATE OF lane ON @table
  WHEN ${IS_HEAD} AND NEW.lane IS NULL BEGIN ${LEAVE}; END;`

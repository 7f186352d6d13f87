import { fillIn, STATES_AND_LIMITS } from '../../fill-in.ts'
import { asText, quoteName } from '../encode.ts'
import { type Part, triggerPart } from '../parts.ts'
import { busy, isFree, NOW } from './pieces.ts'
import type { Names } from './tables.ts'

/** The items of a lane that keep the others of it parked: one, or none. */
function headsOf(lane: string): string {
  return `@items i WHERE i.lane = ${lane} AND i.state IN (@READY, @DELAYED, @RUNNING, @SUSPECT)`
}

/**
 * A lane has one item that is ready, delayed, running or a suspect; the others are parked behind it. The trigger keeps that true for
 * whatever adds, revives or removes items, such as a process of an older version. It locks the lane until the commit, and each of its
 * statements sees what was committed before that statement began: an item that is added cannot miss that the one before it ends, nor the other
 * way round. It waits for the row of a parked item only if there is no other, and looks again after that: a row that was deleted meanwhile would
 * leave the lane stuck.
 */
const FUNCTION = fillIn(
  `
DECLARE
  its_lane text := CASE TG_OP WHEN 'INSERT' THEN NEW.lane ELSE OLD.lane END;
  enters boolean := TG_OP = 'INSERT';
  is_behind boolean;
  follower text;
BEGIN
  IF current_setting('transaction_isolation') = 'repeatable read' THEN
    RAISE EXCEPTION 'The lanes of % need transactions at READ COMMITTED, not at REPEATABLE READ, where an event cannot see that the one before it has ended.', TG_RELID::regclass
      USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
  IF TG_OP = 'UPDATE' AND (OLD.lane IS NULL OR OLD.state = @DEAD) THEN
    enters := true;
    its_lane := coalesce(NEW.lane, NEW.away);
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended(its_lane, TG_RELID::bigint));
  is_behind := EXISTS (SELECT FROM ${headsOf('its_lane')} AND (TG_OP <> 'UPDATE' OR i.key <> NEW.key));
  IF TG_OP = 'INSERT' THEN
    IF is_behind THEN
      NEW.state := @PARKED;
      NEW.since := greatest(NEW.since, (SELECT max(since) + 1 FROM @items WHERE lane = its_lane AND state = @PARKED));
      NEW.position := NEW.since;
    END IF;
    RETURN NEW;
  ELSIF enters THEN
    UPDATE @items SET lane = its_lane, away = NULL, state = CASE WHEN is_behind THEN @PARKED ELSE state END,
      position = CASE WHEN is_behind THEN since ELSE position END WHERE key = NEW.key;
    RETURN NULL;
  END IF;
  WHILE NOT is_behind LOOP
    SELECT key INTO follower FROM @items WHERE lane = its_lane AND state = @PARKED ORDER BY since LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
      SELECT key INTO follower FROM @items WHERE lane = its_lane AND state = @PARKED ORDER BY since LIMIT 1;
      EXIT WHEN NOT FOUND;
    END IF;
    UPDATE @items SET state = @DELAYED, position = @NOW WHERE key = follower AND state = @PARKED;
    EXIT WHEN FOUND;
  END LOOP;
  RETURN NULL;
END`,
  { ...STATES_AND_LIMITS, NOW },
)

const WAS_HEAD = `OLD.lane IS NOT NULL AND OLD.state NOT IN (@DEAD, @PARKED)`
const CHANGES = [
  `NEW.away IS NOT NULL AND NEW.state IN (@READY, @SUSPECT)`,
  `NEW.lane IS NOT NULL AND OLD.state = @DEAD AND NEW.state <> @DEAD`,
  `${WAS_HEAD} AND (NEW.lane IS NULL OR NEW.state = @DEAD)`,
  // It changes nothing: see makeLookAtLanes.
  `NEW.lane IS NOT NULL AND OLD.state = @PARKED AND NEW.state = @PARKED`,
]
/** The names of the triggers, of which each table has its own. */
const TRIGGERS: readonly (readonly [name: string, event: string, when: string])[] = [
  ['postern_lane_insert', 'BEFORE INSERT', `NEW.lane IS NOT NULL AND NEW.state <> @DEAD`],
  ['postern_lane_update', 'AFTER UPDATE OF state, lane', `(${CHANGES.join(') OR (')})`],
  ['postern_lane_delete', 'AFTER DELETE', WAS_HEAD],
]
/** Tries of 50 ms each to lock the table, with pauses between, so that deliveries wait for no longer. */
const LOCK_TRIES = 40

/** Adds the columns of lanes to a table of an earlier version. It comes before all that locks the table and does not let go. */
export function makeLaneColumns({ items }: Names): string {
  const has = (column: string) =>
    `EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass(${asText(items)}) AND attname = '${column}' AND NOT attisdropped)`
  const body = `DECLARE
  patience text := current_setting('lock_timeout');
BEGIN
  IF NOT ${has('lost_by')} OR ${has('away')} THEN
    RETURN;
  END IF;
  FOR turn IN 1..${LOCK_TRIES} LOOP
    BEGIN
      PERFORM set_config('lock_timeout', '50ms', true);
      LOCK TABLE ${items};
      EXIT;
    EXCEPTION WHEN lock_not_available THEN
      IF turn = ${LOCK_TRIES} THEN RAISE; END IF;
    END;
    PERFORM pg_sleep(0.1);
  END LOOP;
  PERFORM set_config('lock_timeout', patience, true);
  ALTER TABLE ${items} ADD COLUMN lane text COLLATE "C", ADD COLUMN away text COLLATE "C";
END`
  return `DO ${asText(body)}`
}

/** Parts of the table that lanes need, besides the index. */
export function laneParts(items: string): readonly Part[] {
  return TRIGGERS.map(([name]) => triggerPart(name, items))
}

/** Creates what is missing of the triggers, and replaces a function of an earlier version. It names the schema: each session has its own search path. */
export function makeLaneTriggers({ items }: Names, table: string): string {
  const relation = `${asText(items)}::regclass`
  const trigger = ([name, event, when]: (typeof TRIGGERS)[number]) => `
  IF NOT ${triggerPart(name, items).exists} THEN
    EXECUTE 'CREATE TRIGGER ${name} ${event} ON ' || items || ' FOR EACH ROW WHEN (${fillIn(when, STATES_AND_LIMITS)}) EXECUTE FUNCTION ' || routine;
  END IF;`
  const body = `DECLARE
  space text := (SELECT quote_ident(nspname) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE c.oid = ${relation});
  items text := space || '.' || ${asText(quoteName(table))};
  routine text := space || '.' || ${asText(quoteName(`${table}_lane`))} || '()';
  source text := replace(${asText(FUNCTION)}, '@items', items);
BEGIN
  IF (SELECT prosrc FROM pg_proc WHERE oid = to_regprocedure(routine)) IS DISTINCT FROM source THEN
    EXECUTE 'CREATE OR REPLACE FUNCTION ' || routine || ' RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS ' || quote_literal(source);
  END IF;${TRIGGERS.map(trigger).join('')}
END`
  return `DO ${asText(body)}`
}

/**
 * Releases the next items of lanes in which nothing is ready, delayed, running or a suspect, as after a restore of rows: looks at some lanes
 * behind the given one. Updates such an item without a change, so that the trigger looks at its lane. Returns the last lane that it
 * looked at, and whether there may be more.
 */
const nextLane = (after: string) =>
  `SELECT i.lane FROM @items i WHERE i.lane > ${after} AND i.state <> @DEAD ORDER BY i.lane LIMIT 1`
export const LOOK_AT_LANES = `
WITH RECURSIVE args AS MATERIALIZED (SELECT $1::text AS after), lanes AS (
  (${nextLane('(SELECT after FROM args)')})
  UNION ALL SELECT i.lane FROM lanes l CROSS JOIN LATERAL (${nextLane('l.lane')}) i
), looked AS MATERIALIZED (
  SELECT lane FROM lanes LIMIT @LANES_A_LOOK
), stuck AS MATERIALIZED (
  SELECT p.* FROM looked l CROSS JOIN LATERAL (
    SELECT * FROM @items p WHERE p.lane = l.lane AND p.state = @PARKED ORDER BY p.since LIMIT 1 FOR UPDATE SKIP LOCKED
  ) p WHERE NOT EXISTS (SELECT FROM ${headsOf('l.lane')} OFFSET 0)
), ${busy('SELECT lane FROM stuck')}, released AS (
  INSERT INTO @items AS i (@REQUIRED) SELECT @REQUIRED FROM stuck WHERE ${isFree('lane')}
  ON CONFLICT (key) DO UPDATE SET lane = i.lane
)
SELECT max(lane), (count(*) = @LANES_A_LOOK)::text FROM looked`

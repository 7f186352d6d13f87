import { DEAD, DELAYED, PARKED, READY, RUNNING, SUSPECT } from '../inbox-lines.ts'

/** Returns the rows of a lane that keep the others of it parked: one, or none. */
export function headOf(name: string, lane: string): string {
  return `${name} h WHERE h.lane = ${lane} AND h.state IN (${READY}, ${DELAYED}, ${RUNNING}, ${SUSPECT})`
}

/** Returns the number of the item of a lane that is next. */
function nextOf(name: string, lane: string): string {
  return `(SELECT seq FROM ${name} WHERE lane = ${lane} AND state = ${PARKED} ORDER BY position LIMIT 1)`
}

/** Makes a parked item due by any clock. Its account's turn is assigned like that of a retry. */
export function releaseOf(name: string): string {
  return `UPDATE ${name} SET state = ${DELAYED}, position = 0 WHERE`
}

/** Returns so many lanes behind one, each with the number of its next item if nothing else will release that. */
export function lanesAfter(name: string): string {
  const after = (lane: string) => `SELECT min(lane) FROM ${name} INDEXED BY ${name}_lane WHERE lane > ${lane}`
  return `WITH RECURSIVE lanes (lane) AS (
    ${after('?')} UNION ALL SELECT (${after('l.lane')}) FROM lanes l WHERE l.lane IS NOT NULL LIMIT ?)
    SELECT l.lane, CASE WHEN NOT EXISTS (SELECT 1 FROM ${headOf(name, 'l.lane')}) THEN ${nextOf(name, 'l.lane')} END AS seq
    FROM lanes l WHERE l.lane IS NOT NULL`
}

const TRIGGERS = ['_entered', '_revived', '_returned', '_left', '_buried', '_passed'] as const
type Trigger = (typeof TRIGGERS)[number]
/** The endings of the names of the index of lanes and of the triggers. */
export const LANE_PARTS: readonly string[] = ['_lane', ...TRIGGERS]

/**
 * A lane has one item that is ready, delayed, running or a suspect; the others are parked behind it. Triggers keep that true for whatever
 * adds, revives or removes items, such as a process of an older version. They are created with the first item that has a lane: each costs 3 % of
 * accepting an event, even if it does nothing.
 */
export function makeLanes(name: string): string {
  const isHead = `OLD.lane IS NOT NULL AND OLD.state NOT IN (${DEAD}, ${PARKED})`
  const isBehind = (lane: string) => `EXISTS (SELECT 1 FROM ${headOf(name, lane)} AND h.seq <> NEW.seq)`
  const last = `SELECT position FROM ${name} p WHERE p.lane = NEW.lane AND p.state = ${PARKED} ORDER BY p.position DESC LIMIT 1`
  // Behind the last one, even if the clock was set back.
  const enter = `UPDATE ${name} SET state = ${PARKED}, position = max(due_at, 1 + coalesce((${last}), 0))
    WHERE seq = NEW.seq AND ${isBehind('NEW.lane')}`
  const leave = `${releaseOf(name)} seq = ${nextOf(name, 'OLD.lane')}
    AND NOT EXISTS (SELECT 1 FROM ${headOf(name, 'OLD.lane')})`
  const triggers: Readonly<Record<Trigger, readonly [event: string, when: string, ...steps: readonly string[]]>> = {
    _entered: ['INSERT', `NEW.lane IS NOT NULL AND NEW.state <> ${DEAD}`, enter],
    _revived: ['UPDATE OF state', `NEW.lane IS NOT NULL AND OLD.state = ${DEAD} AND NEW.state <> ${DEAD}`, enter],
    _returned: [
      'UPDATE OF state',
      `NEW.away IS NOT NULL AND NEW.state IN (${READY}, ${SUSPECT})`,
      `UPDATE ${name} SET lane = away, away = NULL WHERE seq = NEW.seq`,
      `UPDATE ${name} SET state = ${PARKED}, position = since WHERE seq = NEW.seq AND ${isBehind('NEW.away')}`,
    ],
    _left: ['DELETE', isHead, leave],
    _buried: ['UPDATE OF state', `${isHead} AND NEW.state = ${DEAD}`, leave],
    _passed: ['UPDATE OF lane', `${isHead} AND NEW.lane IS NULL`, leave],
  }
  const create = Object.entries(triggers).map(
    ([ending, [event, when, ...steps]]) =>
      `CREATE TRIGGER IF NOT EXISTS ${name}${ending} AFTER ${event} ON ${name} WHEN ${when} BEGIN ${steps.join('; ')}; END;`,
  )
  return create.join('\n')
}

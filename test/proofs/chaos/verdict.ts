import type { JournalRecord } from './journal.ts'

/** One process of a worker, from its start to its end. */
export interface Life {
  readonly records: readonly JournalRecord[]
  /** The time of the kill, on the machine's clock; undefined if the process ended regularly. */
  readonly killedAt: number | undefined
}

/** A time in which the engine accepted nothing, by the machine's clock. */
export interface Outage {
  readonly from: number
  readonly to: number
}

/** The outcome of every event of a run, as counts. Those under `faults` must be zero. */
export interface Verdict {
  readonly runs: number
  readonly failedRuns: number
  /** Runs whose process was killed, or whose engine was away for longer than a claim, before the store had their result. */
  readonly hitByKill: number
  /** Handlers that ended more than once for an event, if a kill or an outage explains it. */
  readonly repeatedAfterKill: number
  readonly faults: {
    /** Handlers that never ended for an event. */
    readonly neverHandled: number
    /** Handlers that ended more than once for an event with no kill between. */
    readonly twiceWithoutKill: number
    /** Pairs of runs of one handler for one event at the same time, the earlier of which was not killed. */
    readonly overlapping: number
    /** Runs of an event while another one of its record ran. */
    readonly overlappingInLane: number
  }
}

interface HandlerRun {
  readonly begin: number
  readonly end: number
  readonly result: 'end' | 'failure' | 'cut off'
  readonly isHit: boolean
}

type RunOfLane = Pick<HandlerRun, 'begin' | 'end'> & { readonly eventId: string }

/**
 * Judges the journals of all lives against the events that were sent.
 *
 * @param handlersOf names the handlers that must end for an event
 * @param laneOf returns what only one event may run of at a time
 */
export function judge(
  eventIds: Iterable<string>,
  handlersOf: (eventId: string) => readonly string[],
  lives: readonly Life[],
  outages: readonly Outage[] = [],
  laneOf = (eventId: string) => eventId,
): Verdict {
  const runs = new Map<string, HandlerRun[]>()
  for (const life of lives)
    for (const [key, run] of runsOf(life, outages)) {
      const known = runs.get(key)
      if (known === undefined) runs.set(key, [run])
      else known.push(run)
    }
  const all = [...runs.values()].flat()
  const faults = { neverHandled: 0, twiceWithoutKill: 0, overlapping: 0, overlappingInLane: 0 }
  let repeatedAfterKill = 0
  for (const eventId of eventIds)
    for (const handler of handlersOf(eventId)) {
      const ofHandler = (runs.get(toKey(eventId, handler)) ?? []).toSorted((a, b) => a.begin - b.begin)
      const ends = ofHandler.filter(({ result }) => result === 'end').length
      const hits = ofHandler.filter(({ isHit }) => isHit).length
      if (ends === 0) faults.neverHandled++
      if (ends > 1 + hits) faults.twiceWithoutKill++
      else if (ends > 1) repeatedAfterKill++
      faults.overlapping += countOverlaps(ofHandler)
    }
  const lanes = new Map<string, RunOfLane[]>()
  for (const [key, ofHandler] of runs) {
    const eventId = key.slice(key.indexOf(' ') + 1)
    const ofLane = lanes.get(laneOf(eventId)) ?? []
    lanes.set(laneOf(eventId), ofLane)
    ofLane.push(...ofHandler.map(({ begin, end }) => ({ begin, end, eventId })))
  }
  for (const ofLane of lanes.values()) faults.overlappingInLane += countOverlapsInLane(ofLane)
  return {
    runs: all.length,
    failedRuns: all.filter(({ result }) => result === 'failure').length,
    hitByKill: all.filter(({ isHit }) => isHit).length,
    repeatedAfterKill,
    faults,
  }
}

function* runsOf({ records, killedAt }: Life, outages: readonly Outage[]): Iterable<[key: string, run: HandlerRun]> {
  const settled = new Map<string, number>()
  for (const { kind, eventId, at } of records) if (kind === 'settled') settled.set(eventId, at)
  const open = new Map<string, JournalRecord>()
  const toRun = (begin: JournalRecord, end: number, result: HandlerRun['result']): HandlerRun => {
    const settledAt = settled.get(begin.eventId) ?? 0
    const knownAt = settledAt < begin.at ? Number.POSITIVE_INFINITY : settledAt
    const isHit =
      (killedAt !== undefined && settledAt < begin.at) ||
      outages.some(({ from, to }) => begin.at < to && knownAt > from)
    return { begin: begin.at, end, result, isHit }
  }
  for (const record of records) {
    const key = toKey(record.eventId, record.handler)
    if (record.kind === 'begin') open.set(key, record)
    else if (record.kind !== 'settled') {
      const begin = open.get(key)
      if (begin === undefined) throw new Error(`a journal has the end of a run without its begin: ${key}`)
      open.delete(key)
      yield [key, toRun(begin, record.at, record.kind)]
    }
  }
  for (const [key, begin] of open) yield [key, toRun(begin, killedAt ?? Number.POSITIVE_INFINITY, 'cut off')]
}

function countOverlaps(runs: readonly HandlerRun[]): number {
  let [overlaps, latestEnd] = [0, 0]
  for (const { begin, end, result, isHit } of runs) {
    if (begin < latestEnd) overlaps++
    if (!(isHit && result === 'cut off')) latestEnd = Math.max(latestEnd, end)
  }
  return overlaps
}

/** Counts the runs that begin before a run of another event has ended: by itself, or with its process. */
function countOverlapsInLane(runs: readonly RunOfLane[]): number {
  let overlaps = 0
  let latest: RunOfLane = { begin: 0, end: 0, eventId: '' }
  let latestOfOther = latest
  for (const run of runs.toSorted((a, b) => a.begin - b.begin)) {
    const isSame = run.eventId === latest.eventId
    if (run.begin < (isSame ? latestOfOther : latest).end) overlaps++
    if (run.end > latest.end) {
      if (!isSame) latestOfOther = latest
      latest = run
    } else if (!isSame && run.end > latestOfOther.end) latestOfOther = run
  }
  return overlaps
}

function toKey(eventId: string, handler: string): string {
  return `${handler} ${eventId}`
}

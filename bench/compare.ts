import { GOALS, type Goal } from './goals.ts'
import { type Contestant, type Effort, median, playRounds, print, quantile, ratios } from './harness.ts'

/** Receivers that do the same work, and the way to measure one slice of it. */
export interface Contest {
  /** The name, which {@link GOALS} refers to as well. */
  readonly title: string
  /** The contestants; the others are compared with the first one. */
  readonly names: readonly string[]
  readonly start: (name: string) => Contestant
  /** Throws if the contestant is not a correct receiver. */
  readonly check: (contestant: Contestant) => Promise<unknown>
  /** Returns the CPU time of one delivery in microseconds. */
  readonly play: (contestant: Contestant) => Promise<number>
}

export interface ContestEffort extends Effort {
  readonly processes: number
}

/**
 * Plays a contest and prints it. Every contestant runs in several processes, since the same code settles at another cost in each:
 * twelve processes of `node-postern` took from 79 to 92 µs a request. The figure of a contestant in a round is the mean over its
 * processes, which is what a process costs on average; a median scatters as much. Of the ratio to `node-by-hand` the standard
 * deviation was 0.08 with one process each, 0.05 with three and 0.04 with five. A burst of other load moves the mean of one round,
 * and the median over the rounds leaves that round out.
 */
export async function compare(contest: Contest, effort: ContestEffort): Promise<void> {
  const { title, names, start, check, play } = contest
  const entries = Array.from({ length: effort.processes }, () => names.map(start)).flat()
  try {
    for (const contestant of entries) await check(contestant)
    const times = await playRounds(entries, effort, play)
    const byName = new Map(names.map((name) => [name, times.filter((_, index) => entries[index]?.name === name)]))
    print(
      `${title}: CPU a delivery (processes of each: ${effort.processes}; median of ${effort.rounds} rounds)`,
      toRows(title, byName),
    )
  } finally {
    for (const contestant of entries) contestant.stop()
  }
}

/** The times of each process by the contestant's name, one a round. */
type Times = ReadonlyMap<string, readonly (readonly number[])[]>

function toRows(title: string, times: Times): readonly (readonly string[])[] {
  const [base = ''] = times.keys()
  const goals = GOALS.filter(({ contest }) => contest === title)
  const rows = [['', 'µs', 'processes', 'ratio', 'quartiles', 'goal', '']]
  for (const [name, processes] of times) {
    const goal = goals.find((candidate) => candidate.name === name && candidate.to === base)
    const row = [name, median(byRound(processes)).toFixed(2), toRange(processes.map(median), 0, 2)]
    rows.push(name === base ? row : [...row, ...toRatioCells(times, name, base, goal)])
  }
  for (const goal of goals)
    if (goal.to !== base)
      rows.push([`${goal.name} / ${goal.to}`, '', '', ...toRatioCells(times, goal.name, goal.to, goal)])
  return rows
}

function toRatioCells(times: Times, name: string, to: string, goal: Goal | undefined): readonly string[] {
  const inRounds = ratios(byRound(times.get(name) ?? []), byRound(times.get(to) ?? []))
  const ratio = median(inRounds)
  const cells = [ratio.toFixed(3), toRange(inRounds, 0.25, 3)]
  return goal === undefined ? cells : [...cells, goal.atMost.toFixed(2), ratio <= goal.atMost ? 'reached' : 'MISSED']
}

/** Returns the mean over a contestant's processes in each round. */
function byRound(processes: readonly (readonly number[])[]): readonly number[] {
  const [first = []] = processes
  return first.map(
    (_time, round) => processes.reduce((sum, times) => sum + (times[round] ?? Number.NaN), 0) / processes.length,
  )
}

/** Returns the distance between two quantiles, `share` from either end. */
function toRange(values: readonly number[], share: number, digits: number): string {
  if (values.length < 2) return ''
  return `${quantile(values, share).toFixed(digits)}-${quantile(values, 1 - share).toFixed(digits)}`
}

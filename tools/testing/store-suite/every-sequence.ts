import { setTimeout as sleep } from 'node:timers/promises'
import { Comparison, type Move } from './store-model.ts'
import { type CaseDefinition, LATEST_MS, type Trial } from './trial.ts'

/** Length of a unit at first, in milliseconds. Each step takes one. It is made longer for stores and machines that need more time for a step. */
const UNIT_MS = 1_000
const LONGEST_UNIT_MS = 64_000
/** The part of a unit in which all calls of a step have to be answered: leases end half a unit after their call, at no time of a call. */
const PART_FOR_CALLS = 2 / 5
/** The number of sequences that are taken concurrently: all of them would wait for each other for longer than that. */
const CONCURRENCY = 100
const MOVES: readonly Move[] = [
  ...([0, 1] as const).map((process) => ({ call: 'claim', process, holder: 0 }) as const),
  { call: 'pass', process: 0, holder: 0 },
  ...(['renew', 'complete', 'release'] as const).flatMap((call) => [
    { call, process: 0, holder: 0 } as const,
    { call, process: 1, holder: 0 } as const,
    { call, process: 0, holder: 1 } as const,
  ]),
]

/** All sequences of so many calls that begin with a claim: of claims, renewals, completions, releases and ends of the lease. */
export function everySequence(depth: number): CaseDefinition {
  return {
    name: `answers as the contract in its plainest form does: every sequence of ${depth} steps`,
    run: (trial) => trial.exempt(() => judgeInTime(trial, depth)),
  }
}

async function judgeInTime(trial: Trial, depth: number): Promise<void> {
  let cause: unknown
  for (let unitMs = UNIT_MS; unitMs <= LONGEST_UNIT_MS; ) {
    const late = await judge(trial, depth, unitMs)
    if (late === undefined) return
    cause = late.cause ?? cause
    unitMs = Math.max(2 * unitMs, UNIT_MS * Math.ceil(late.tookMs / PART_FOR_CALLS / UNIT_MS))
  }
  const tooSlow = `The store, or the machine, is too slow to judge: it needs more than 25 s for ${MOVES.length ** (depth - 1)} calls.`
  throw new Error(tooSlow, { cause })
}

/** Takes a step of every sequence, then the next step. Returns the time of a step that took too long to judge, and what failed in it. */
async function judge({ store, another, key, host }: Trial, depth: number, unitMs: number) {
  const shared = { stores: [store, another], unitMs, tokens: new Set<string>() } as const
  const comparisons = makeSequences(depth).map(
    (moves, number) => new Comparison({ ...shared, key: `${key}:${unitMs}:${number}` }, moves),
  )
  const begunAt = performance.now()
  for (let step = 0; step < depth; step++) {
    let tookMs = 0
    for (let at = 0; at < comparisons.length && tookMs <= LONGEST_UNIT_MS * PART_FOR_CALLS; at += CONCURRENCY) {
      const askedAt = performance.now()
      const some = comparisons.slice(at, at + CONCURRENCY)
      const taken = await Promise.allSettled(some.map((comparison) => comparison.take(step)))
      if (host.pass === undefined) tookMs = performance.now() - begunAt - step * unitMs
      const failed = taken.find((one) => one.status === 'rejected')
      if (failed === undefined) continue
      const isLate = tookMs > unitMs * PART_FOR_CALLS || performance.now() - askedAt > LATEST_MS
      if (isLate) return { tookMs, cause: failed.reason }
      throw failed.reason
    }
    if (tookMs > unitMs * PART_FOR_CALLS) return { tookMs, cause: undefined }
    await (host.pass ?? sleep)(unitMs - tookMs)
  }
  return undefined
}

function makeSequences(depth: number): readonly (readonly Move[])[] {
  let sequences: (readonly Move[])[] = [MOVES.slice(0, 1)]
  for (let step = 1; step < depth; step++)
    sequences = sequences.flatMap((before) => MOVES.map((move) => [...before, move]))
  return sequences
}

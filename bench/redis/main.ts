import { redisProgram, startRedis } from '../../test/engines/redis-server.ts'
import type { ClaimFigures } from '../claim-figures.ts'
import { Contestant, medianOf, playRounds, print, ratioOf } from '../harness.ts'

const CLIENTS = ['node-redis', 'ioredis'] as const
const CROWDS = [
  [1, 2_000],
  [32, 10_000],
  [256, 20_000],
] as const

/** Row 7 of the goals: a claim compared with the least that it takes, one bare command, by the same client on the same server. */
export async function benchRedis({ isQuick }: { readonly isQuick: boolean }): Promise<void> {
  if (redisProgram === undefined) return
  // Both contestants write to memory only: a disk would hide the difference.
  const server = await startRedis('--appendonly', 'no')
  try {
    for (const client of CLIENTS) await benchClient(client, server.port, isQuick ? 3 : 11)
    await benchSizes(server.port, isQuick)
  } finally {
    await server.remove()
  }
}

async function benchClient(client: string, port: number, rounds: number): Promise<void> {
  const contestants = ['store', 'bare'].map((name) => makeContestant(client, name, port))
  const rows = [
    [
      'claims at once',
      'claims/s',
      'SET NX PX',
      'ratio',
      'µs CPU',
      'SET NX PX',
      'ratio',
      'p50 ms',
      'p99 ms',
      'p50 ratio',
    ],
  ]
  try {
    for (const [beside, claims] of CROWDS) {
      const [ours = [], theirs = []] = await playRounds(contestants, { warmUp: 2, rounds }, (contestant) =>
        contestant.ask<ClaimFigures>({ claims, beside }),
      )
      rows.push([String(beside), ...toCells(ours, theirs)])
    }
  } finally {
    for (const contestant of contestants) contestant.stop()
  }
  print(`Redis by ${client}: a claim beside SET NX PX (medians of ${rounds} interleaved rounds)`, rows)
}

function toCells(ours: readonly ClaimFigures[], theirs: readonly ClaimFigures[]): readonly string[] {
  const of = (figures: readonly ClaimFigures[], name: keyof ClaimFigures) => medianOf(figures, (each) => each[name])
  const ratio = (name: keyof ClaimFigures) => ratioOf(ours, theirs, (each) => each[name]).toFixed(2)
  return [
    of(ours, 'rate').toFixed(0),
    of(theirs, 'rate').toFixed(0),
    ratio('rate'),
    of(ours, 'cpu').toFixed(1),
    of(theirs, 'cpu').toFixed(1),
    ratio('cpu'),
    of(ours, 'p50').toFixed(2),
    of(ours, 'p99').toFixed(2),
    ratio('p50'),
  ]
}

/** Measures the cost of a claim among few ids and among many. */
async function benchSizes(port: number, isQuick: boolean): Promise<void> {
  const contestant = makeContestant('node-redis', 'store', port)
  try {
    const rounds = isQuick ? 3 : 9
    const rows = [['ids stored', 'claims/s', 'µs CPU', 'p50 ms', 'p99 ms']]
    let stored = 0
    for (const size of isQuick ? [10_000, 100_000] : [10_000, 1_000_000]) {
      await contestant.ask({ ids: size - stored })
      stored = size
      const [taken = []] = await playRounds([contestant], { warmUp: 0, rounds }, () =>
        contestant.ask<ClaimFigures>({ claims: 10_000, beside: 32 }),
      )
      const cell = (name: keyof ClaimFigures, digits: number) => medianOf(taken, (each) => each[name]).toFixed(digits)
      rows.push([size.toLocaleString('en'), cell('rate', 0), cell('cpu', 1), cell('p50', 2), cell('p99', 2)])
    }
    print(`Redis by node-redis: claims among done ids, 32 at once (medians of ${rounds} rounds)`, rows)
  } finally {
    contestant.stop()
  }
}

function makeContestant(client: string, name: string, port: number): Contestant {
  return new Contestant(`${name} by ${client}`, 'redis/worker.mjs', [client, name, String(port)])
}

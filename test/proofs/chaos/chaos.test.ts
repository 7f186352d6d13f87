import { describe, expect, it } from 'vitest'
import { postgresProgram } from '../../engines/postgres-server.ts'
import { redisProgram } from '../../engines/redis-server.ts'
import { startEngine } from './engine-servers.ts'
import type { EngineName } from './messages.ts'
import { runChaos } from './run-chaos.ts'

/** A short run: the lease of a killed worker ends before the fourth attempt, and the schedule takes a second and a half. */
async function runShort(name: EngineName, scale = 1, records = name.endsWith('-lanes') ? 20 : undefined) {
  const engine = await startEngine(name)
  try {
    const settings = { events: 500, kills: 3, workers: 4, concurrency: 32 }
    const times = { leaseMs: 2_000 * scale, retryScale: 500 / scale }
    return await runChaos({ ...settings, ...times, ...(records && { records }), engine, engineFaults: false })
  } finally {
    await engine.close()
  }
}

/** On a machine that is too slow to renew leases of 2 s, events run twice by right. Such a run is judged with longer leases. */
async function runInTime(name: EngineName) {
  const run = await runShort(name)
  const { twiceWithoutKill, overlapping, overlappingInLane } = run.faults
  return twiceWithoutKill + overlapping + overlappingInLane === 0 ? run : runShort(name, 8)
}

/** Returns the counts that must be zero and are not. */
function found(faults: Readonly<Record<string, number>>): readonly string[] {
  return Object.keys(faults).filter((name) => faults[name] !== 0)
}

const ENGINES: readonly EngineName[] = [
  ...(redisProgram === undefined ? [] : (['redis'] as const)),
  ...(postgresProgram === undefined
    ? []
    : ([
        'postgres',
        'postgres-transaction',
        'inbox-postgres',
        'inbox-postgres-transaction',
        'inbox-postgres-lanes',
      ] as const)),
  'sqlite',
  'sqlite-transaction',
  'inbox-sqlite',
  'inbox-sqlite-transaction',
  'inbox-sqlite-lanes',
]

describe('four workers that are killed at random', () => {
  it.each(ENGINES)('lose nothing and repeat nothing without need on %s', async (name) => {
    const { faults, kills, lastWords } = await runInTime(name)
    expect([found(faults), lastWords]).toEqual([[], []])
    expect(kills).toBe(3)
  })

  it('handle events twice on separate stores, and the judge reports it', async () => {
    const { faults } = await runShort('memory')
    expect(faults.twiceWithoutKill).toBeGreaterThan(0)
    expect(found({ ...faults, twiceWithoutKill: 0, overlapping: 0, overlappingInLane: 0 })).toEqual([])
  })

  it('run events of a record at the same time without a lane, and the judge reports it', async () => {
    const { faults } = await runShort('inbox-sqlite', 1, 20)
    expect(faults.overlappingInLane).toBeGreaterThan(0)
  })
})

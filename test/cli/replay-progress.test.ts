import type { ReplayProgress } from 'postern/client'
import { expect, it } from 'vitest'
import { formatStatus, toStatus } from '../../src/cli/output/replay-progress.ts'

const NONE = { waitMs: 0, waitsFor: 'rate_limit', elapsedMs: 0 } as const

function progress(fields: Partial<ReplayProgress>): ReplayProgress {
  return { total: 300, retried: 0, resumed: 0, refused: 0, succeeded: 0, failed: 0, ...fields }
}

it.each<[string, ReplayProgress | undefined, Partial<Parameters<typeof toStatus>[1]>, string]>([
  ['before anything is known', undefined, {}, 'reading the log'],
  ['at its start', progress({}), {}, 'retrying 0/300  0.0%'],
  [
    'waiting',
    progress({ retried: 120 }),
    { waitMs: 1_400, elapsedMs: 5_000 },
    'retrying 120/300  40.0%  waiting 1.4 s for rate limit  eta 11 s',
  ],
  [
    'where some are refused',
    progress({ retried: 140, refused: 10 }),
    { elapsedMs: 15_000 },
    'retrying 150/300  50.0%  eta 15 s',
  ],
  [
    'at its end',
    progress({ retried: 290, refused: 10, succeeded: 200, failed: 1 }),
    {},
    'waiting for results 211/300  70.3%',
  ],
  [
    'with retries that were made twice',
    progress({ retried: 310, succeeded: 3 }),
    {},
    'waiting for results 3/300  1.0%',
  ],
  ['with nothing to do', progress({ total: 0 }), {}, 'waiting for results 0/0'],
  [
    'after a failure',
    progress({ retried: 150 }),
    { waitMs: 500, waitsFor: 'back_off', elapsedMs: 1_000 },
    'retrying 150/300  50.0%  waiting 500 ms after a failure  eta 2 s',
  ],
])('prints the progress of a replay: %s', (_what, at, pace, line) => {
  expect(formatStatus(toStatus(at, { ...NONE, ...pace }))).toBe(line)
})

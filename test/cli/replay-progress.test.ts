import type { ReplayProgress } from 'postern/client'
import { expect, it } from 'vitest'
import { formatStatus, toStatus } from '../../src/cli/output/replay-progress.ts'

const NOW = { waitMs: 0, waitsFor: 'rate_limit', elapsedMs: 0 } as const
const NONE: ReplayProgress = { total: 300, retried: 0, resumed: 0, refused: 0, succeeded: 0, failed: 0 }
const LIMITED = { waitMs: 1_400, elapsedMs: 5_000 }
const FAILED = { waitMs: 500, waitsFor: 'back_off', elapsedMs: 1_000 } as const

it.each<[string, Partial<ReplayProgress>, Partial<Parameters<typeof toStatus>[1]>, string]>([
  ['at its start', {}, {}, 'retrying 0/300  0.0%'],
  ['waiting', { retried: 120 }, LIMITED, 'retrying 120/300  40.0%  waiting 1.4 s for rate limit  eta 11 s'],
  ['with refusals', { retried: 140, refused: 10 }, { elapsedMs: 15_000 }, 'retrying 150/300  50.0%  eta 15 s'],
  ['at its end', { retried: 299, refused: 1, succeeded: 209, failed: 1 }, {}, 'waiting for results 211/300  70.3%'],
  ['with two retries of one', { retried: 310, succeeded: 3 }, {}, 'waiting for results 3/300  1.0%'],
  ['with nothing to do', { total: 0 }, {}, 'waiting for results 0/0'],
  ['after a failure', { retried: 150 }, FAILED, 'retrying 150/300  50.0%  waiting 500 ms after a failure  eta 2 s'],
])('prints the progress of a replay: %s', (_what, progress, pace, line) => {
  expect(formatStatus(toStatus({ ...NONE, ...progress }, { ...NOW, ...pace }))).toBe(line)
})

it('prints that a replay reads the log', () => {
  expect(formatStatus(toStatus(undefined, NOW))).toBe('reading the log')
})

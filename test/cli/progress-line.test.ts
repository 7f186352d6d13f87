import type { ReplayProgress, Wait } from 'postern/client'
import { expect, it } from 'vitest'
import { showProgress } from '../../tools/cli/output/progress-line.ts'
import { formatStatus, ReplayDisplay, toStatus } from '../../tools/cli/output/replay-progress.ts'
import { createTestIo, type IoSetting } from './test-io.ts'

/** A line that counts how often it was looked at. */
function start(setting: IoSetting, isJson = false) {
  const { io, written } = createTestIo(setting)
  let looks = 0
  const end = showProgress(io, isJson, () => ({ text: `step ${++looks}`, record: { step: looks } }))
  return { written, end }
}

it.concurrent('shows progress after a second: as a line that changes, as a line now and then, as records', async ({
  expect,
  onTestFinished,
}) => {
  const begin = performance.now()
  const drawn = start({ isTTY: true })
  const plain = start({})
  const dumb = start({ isTTY: true, env: { TERM: 'dumb' } })
  const json = start({ isTTY: true }, true)
  onTestFinished(() => [drawn, plain, dumb, json].forEach(({ end }) => void end()))
  await expect.poll(() => drawn.written.stderr, { interval: 10 }).toContain('step 1')
  expect(performance.now() - begin).toBeGreaterThan(890)
  await expect.poll(() => drawn.written.stderr, { interval: 10 }).toContain('step 3')
  for (const { end } of [drawn, plain, dumb, json]) end()
  expect(drawn.written.stderr).toMatch(/^(\r.\[Kstep \d){3,}\r.\[K$/)
  for (const { written } of [plain, dumb]) expect(written.stderr).toBe('step 1\n')
  expect(json.written.stderr).toMatch(/^\{"type":"progress","step":1\}\n(\{"type":"progress","step":2\}\n)?$/)
  drawn.end()
  expect(drawn.written.stderr).not.toMatch(/(\r.\[K){2}/)
})

it.concurrent('leaves no trace of a command that ends sooner', async ({ expect }) => {
  const { written, end } = start({ isTTY: true })
  end()
  expect(written.stderr).toBe('')
})

it.concurrent('shows the longest wait of a replay with its reason, and the time since its first retry', async ({
  expect,
  onTestFinished,
}) => {
  const { io, written } = createTestIo()
  const display = new ReplayDisplay()
  onTestFinished(display.show(io, true))
  display.onWait({ ms: 60_000, reason: 'rate_limit' })
  display.onWait({ ms: 10, reason: 'back_off' })
  const progress: ReplayProgress = { total: 4, retried: 1, resumed: 0, refused: 0, succeeded: 0, failed: 0 }
  display.onProgress(progress)
  await new Promise(setImmediate)
  display.onProgress({ ...progress, retried: 2 })
  await expect.poll(() => written.stderr, { interval: 10 }).toContain('\n')
  const { waitMs, etaMs, ...rest } = JSON.parse(written.stderr.split('\n')[0] ?? '')
  expect(rest).toEqual({
    ...{ type: 'progress', phase: 'retrying', done: 2, waitsFor: 'rate_limit' },
    ...{ ...progress, retried: 2 },
  })
  expect(waitMs).toBeGreaterThan(50_000)
  expect(waitMs).toBeLessThan(59_500)
  // One more wait for the other half, and as much time as the first half took: a second in which nothing happened.
  expect(etaMs - 2 * waitMs).toBeGreaterThan(890)
  expect(etaMs - 2 * waitMs).toBeLessThan(50_000)
})

const NOW = { waitMs: 0, waitsFor: 'rate_limit' as Wait['reason'], elapsedMs: 0 }
const NONE: ReplayProgress = { total: 300, retried: 0, resumed: 0, refused: 0, succeeded: 0, failed: 0 }
const LIMITED = { waitMs: 1_400, elapsedMs: 5_000 }
const FAILED = { waitMs: 500, waitsFor: 'back_off', elapsedMs: 1_000 } as const

it.each<[string, Partial<ReplayProgress>, Partial<typeof NOW>, string]>([
  ['at its start', {}, {}, 'retrying 0/300  0.0%'],
  ['waiting', { retried: 120 }, LIMITED, 'retrying 120/300  40.0%  waiting 1.4 s for rate limit  eta 11 s'],
  ['with refusals', { retried: 140, refused: 10 }, { elapsedMs: 15_000 }, 'retrying 150/300  50.0%  eta 15 s'],
  ['at its end', { retried: 299, refused: 1, succeeded: 209, failed: 1 }, {}, 'waiting for results 211/300  70.3%'],
  ['with two retries of one', { retried: 310, succeeded: 3 }, {}, 'waiting for results 3/300  1.0%'],
  ['with nothing to do', { total: 0 }, {}, 'waiting for results 0/0'],
  ['after a failure', { retried: 150 }, FAILED, 'retrying 150/300  50.0%  waiting 500 ms after a failure  eta 2 s'],
])('prints the progress of a replay: %s', (_what, progress, pace, line) => {
  const now = { ...NOW, ...pace }
  expect(formatStatus({ ...now, ...toStatus({ ...NONE, ...progress }, now) })).toBe(line)
})

it('prints that a replay reads the log', () => {
  expect(formatStatus({ ...NOW, ...toStatus(undefined, NOW) })).toBe('reading the log')
})

import type { ReplayProgress } from 'postern/client'
import { it } from 'vitest'
import { showProgress } from '../../tools/cli/output/progress-line.ts'
import { createReplayDisplay } from '../../tools/cli/output/replay-progress.ts'
import { createTestIo, type IoSetting } from './test-io.ts'

/** A line that counts how often it was looked at. */
function start(setting: IoSetting) {
  const { io, written } = createTestIo(setting)
  let looks = 0
  const end = showProgress(io, () => ({ text: `step ${++looks}`, record: { step: looks } }))
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
  const json = start({ isTTY: true, isJson: true })
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

it.concurrent('shows the longest wait of a replay with its reason, and the time since its first retry', async ({
  expect,
  onTestFinished,
}) => {
  const { io, written } = createTestIo({ isJson: true })
  const display = createReplayDisplay(io)
  onTestFinished(display.show())
  display.onWait({ ms: 60_000, reason: 'rate_limit' })
  display.onWait({ ms: 10, reason: 'back_off' })
  const progress: ReplayProgress = { total: 4, retried: 1, resumed: 0, refused: 0, succeeded: 0, failed: 0 }
  display.onProgress(progress)
  await new Promise(setImmediate)
  display.onProgress({ ...progress, retried: 2 })
  await expect.poll(() => written.stderr, { interval: 10 }).toContain('\n')
  const { waitMs, etaMs, ...rest } = JSON.parse(written.stderr.split('\n')[0] ?? '')
  expect(rest).toEqual({
    type: 'progress',
    phase: 'retrying',
    done: 2,
    waitsFor: 'rate_limit',
    ...progress,
    retried: 2,
  })
  expect(waitMs).toBeGreaterThan(50_000)
  expect(waitMs).toBeLessThan(59_500)
  // One more wait for the other half, and as much time as the first half took: a second in which nothing happened.
  expect(etaMs - 2 * waitMs).toBeGreaterThan(890)
  expect(etaMs - 2 * waitMs).toBeLessThan(50_000)
})

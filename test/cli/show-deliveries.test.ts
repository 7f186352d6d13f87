import { expect, it } from 'vitest'
import { createDeliveryDisplay } from '../../src/cli/output/show-deliveries.ts'
import { createTestIo } from './test-io.ts'

const DELIVERY = {
  ...{ id: 'dlv_1', eventId: 'evt_1', eventType: 'contact.created', status: 'success', nextAttemptAt: undefined },
}
const ATTEMPT = { number: 1, at: 0, durationMs: 4, status: 200, responseBody: '', url: 'http://127.0.0.1:9/hooks' }
const REFUSED = { ...ATTEMPT, status: undefined, failure: 'refused' }
const ADVICE = 'refused: nothing listens at http://127.0.0.1:9/hooks. Is your app running, and on that port?\n'

/** A display and its output. */
function start(options: { readonly json?: true } = {}, isTTY = false) {
  const { io, written } = createTestIo({ isTTY })
  return { written, display: createDeliveryDisplay({ retryScale: 1, ...options }, io) }
}

it('shows a line for each attempt, and passes over everything else', () => {
  const { written, display } = start()
  display.show({ type: 'delivery', delivery: DELIVERY })
  display.show({ type: 'attempt', delivery: DELIVERY })
  display.show({ type: 'attempt', attempt: ATTEMPT })
  display.show({ type: 'clock', delivery: DELIVERY, attempt: ATTEMPT })
  expect(written.stdout).toBe('')
  display.show({ type: 'attempt', delivery: DELIVERY, attempt: ATTEMPT })
  expect(written.stdout).toMatch(/^\d\d:\d\d:\d\d {2}contact\.created +evt_1 +1\/5 +200 +4 ms\n$/)
  display.finish(undefined)
  expect(written.stderr).toBe('1 delivery, 1 attempt: 1 acknowledged, 0 failed\n')
})

it('advises once for each kind of failure', () => {
  const { written, display } = start()
  const failed = { ...DELIVERY, status: 'failed' }
  for (const attempt of [REFUSED, REFUSED, { ...ATTEMPT, status: 422, failure: 'status' }, ATTEMPT])
    display.show({ type: 'attempt', delivery: failed, attempt })
  expect(written.stderr).toBe(
    `${ADVICE}422: the schema refuses this record, or the event is too old for the receiver; its log says why. Add a field with --set data.record.NAME=VALUE, or leave out --late.\n`,
  )
})

it('advises nothing about what has no usual cause, or was acknowledged', () => {
  const { written, display } = start()
  display.show({ type: 'attempt', delivery: DELIVERY, attempt: { ...ATTEMPT, status: 500, failure: 'status' } })
  display.show({ type: 'attempt', delivery: DELIVERY, attempt: { ...ATTEMPT, status: 404 } })
  expect(written.stderr).toBe('')
})

it('counts deliveries and attempts, and how they ended', () => {
  const { written, display } = start()
  for (let count = 0; count < 2; count++) display.show({ type: 'delivery' })
  for (const status of ['pending', 'success', 'failed', 'failed'])
    display.show({ type: 'attempt', delivery: { ...DELIVERY, status }, attempt: ATTEMPT })
  display.finish(0)
  expect(written.stderr).toBe('2 deliveries, 4 attempts: 1 acknowledged, 2 failed, 0 pending\n')
})

it('writes an object for each attempt and for the summary', () => {
  const { written, display } = start({ json: true })
  display.show({ type: 'delivery' })
  display.show({ type: 'attempt', delivery: DELIVERY, attempt: REFUSED })
  display.finish(3)
  display.finish(undefined)
  const summary = { type: 'summary', deliveries: 1, attempts: 1, succeeded: 1, failed: 0 }
  expect(
    written.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toMatchObject([
    { type: 'attempt', deliveryId: 'dlv_1', error: 'refused' },
    { ...summary, pending: 3 },
    { ...summary, pending: null },
  ])
  expect(written.stderr).toContain(ADVICE)
})

it('writes no summary as an object for people', () => {
  const { written, display } = start()
  display.finish(3)
  expect(written.stdout).toBe('')
})

import { expect, it } from 'vitest'
import { createDeliveryDisplay, type ShownAttempt } from '../../tools/cli/output/attempt-line.ts'
import { createTestIo } from './test-io.ts'

const DELIVERY = {
  id: 'dlv_1',
  eventId: 'evt_1',
  eventType: 'contact.created',
  status: 'pending' as const,
  nextAttemptAt: undefined,
}
const ATTEMPT = { number: 1, at: 0, durationMs: 20, responseBody: '', url: 'http://127.0.0.1:9/hooks' }

/** Shows attempts, each with these fields. */
function show(...attempts: readonly Partial<ShownAttempt>[]) {
  const { io, written } = createTestIo()
  const display = createDeliveryDisplay({ retryScale: 1, signatureHeader: 'X-A' }, io)
  for (const attempt of attempts)
    display.show({ type: 'attempt', delivery: DELIVERY, attempt: { ...ATTEMPT, ...attempt } })
  return written
}

it('lets no text of an emulator reach the terminal as a command, and names a retry by hand', () => {
  const line = show({ number: 6, failure: 'x\u001b[2J\u009b\n' }).stdout
  expect(line).toMatch(/^\d\d:\d\d:\d\d {2}contact\.created +evt_1 +retry +x\?\[2J\?\? +20 ms\n$/)
})

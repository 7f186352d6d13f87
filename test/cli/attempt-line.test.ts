import { stripVTControlCharacters } from 'node:util'
import { describe, expect, it } from 'vitest'
import {
  createDeliveryDisplay,
  formatAttempt,
  type ShownAttempt,
  type ShownDelivery,
  standAfter,
  toNotes,
  toRecord,
} from '../../tools/cli/output/attempt-line.ts'
import { createTestIo } from './test-io.ts'

const AT = Date.UTC(2025, 0, 1, 12, 0, 1)
const DELIVERY: ShownDelivery = {
  id: 'dlv_1',
  eventId: 'evt_1',
  eventType: 'contact.created',
  status: 'pending',
  nextAttemptAt: AT + 30_020,
}
const FAILED: ShownAttempt = { number: 1, at: AT, durationMs: 20, status: 500, failure: 'status', responseBody: '' }
const { failure: _failure, ...RIGHT } = { ...FAILED, status: 200, responseBody: '{"code":"handled"}' }
const DONE = { ...DELIVERY, status: 'success', nextAttemptAt: undefined }

describe('the line of an attempt', () => {
  const attempt = { ...FAILED, at: new Date(2025, 0, 1, 12, 0, 1).getTime(), durationMs: 3.6 }
  const notes = { step: '2/5', next: 'next in 30 s' }

  it.each([true, false])('has columns, coloured or not: %s', (isColoured) => {
    const text = formatAttempt(DELIVERY, { ...attempt, responseBody: '{"code":"busy"}' }, notes, isColoured)
    expect(stripVTControlCharacters(text)).toBe(
      '12:00:01  contact.created             evt_1                         2/5     500          4 ms  busy, next in 30 s',
    )
    if (!isColoured) expect(text).not.toContain('\u001b')
  })

  it('lets no text of the sender reach the terminal as a command', () => {
    const evil = 'x\u001b[2J\u009b\n'
    const { status: _status, ...unanswered } = { ...attempt, failure: evil }
    const text = formatAttempt({ eventType: evil, eventId: evil }, unanswered, notes, false)
    expect(text.match(/x\?\[2J\?\?/g)).toHaveLength(3)
    expect(text).not.toMatch(/\p{Cc}/u)
  })
})

describe('an attempt', () => {
  it.each<[string, Partial<ShownDelivery>, Partial<ShownAttempt>, number, string]>([
    ['when the next one begins', {}, {}, 1, 'next in 30 s'],
    ['that time in full, too, if it is scaled', { nextAttemptAt: AT + 70 }, {}, 600, 'next in 50 ms (30 s at x600)'],
    ['that none is left, whatever was planned', { status: 'failed' }, { number: 5 }, 1, 'failed, no attempt is left'],
    ['nothing of a next one that is unknown', { nextAttemptAt: undefined }, {}, 1, ''],
    ['no full time beyond the schedule', { nextAttemptAt: AT + 70 }, { number: 6 }, 600, 'next in 50 ms'],
  ])('that failed tells %s', (_what, delivery, attempt, scale, next) => {
    expect(toNotes({ ...DELIVERY, ...delivery }, { ...FAILED, ...attempt }, scale)).toMatchObject({ next })
  })

  it('that was acknowledged tells nothing of a next one', () => {
    expect(toNotes(DELIVERY, RIGHT, 1)).toEqual({ step: '1/5', next: '' })
  })

  it.each([
    [5, '5/5'],
    [6, 'retry'],
  ])('of number %d is shown as %s', (number, step) => {
    expect(toNotes(DELIVERY, { ...FAILED, number }, 1).step).toBe(step)
  })

  it('is a record for programs, with all that is unknown as null', () => {
    expect(toRecord(DONE, { ...RIGHT, durationMs: 20.16 }, { copy: 2 })).toEqual({
      ...{ type: 'attempt', at: '2025-01-01T12:00:01.000Z', eventId: 'evt_1', eventType: 'contact.created', copy: 2 },
      ...{ isAcknowledged: true, status: 200, error: null, code: 'handled', durationMs: 20.2 },
    })
    const { status: _status, ...unanswered } = { ...FAILED, failure: 'refused' }
    const failed = { isAcknowledged: false, code: null }
    expect(toRecord(DELIVERY, FAILED, {})).toMatchObject({ ...failed, status: 500, error: null })
    expect(toRecord(DELIVERY, unanswered, {})).toMatchObject({ ...failed, status: null, error: 'refused' })
  })

  it('leaves its delivery pending until the next one, and the last one as it is', () => {
    const attempts = [FAILED, { ...RIGHT, number: 2, at: AT + 31_000 }]
    expect(standAfter(DONE, attempts, 0)).toEqual({ ...DONE, status: 'pending', nextAttemptAt: AT + 31_000 })
    expect(standAfter(DONE, attempts, 1)).toEqual(DONE)
  })
})

describe('the attempts of an emulator', () => {
  const url = 'http://127.0.0.1:9/hooks'
  const attempt = { ...RIGHT, url }
  const start = (options: { readonly json?: true } = {}) => {
    const { io, written } = createTestIo()
    return { written, display: createDeliveryDisplay({ retryScale: 1, ...options }, io) }
  }

  it('are shown, and everything else is passed over', () => {
    const { written, display } = start()
    display.show({ type: 'delivery', delivery: DONE })
    display.show({ type: 'attempt', delivery: DONE })
    display.show({ type: 'attempt', attempt })
    display.show({ type: 'clock', delivery: DONE, attempt })
    expect(written.stdout).toBe('')
    display.show({ type: 'attempt', delivery: DONE, attempt })
    expect(written.stdout).toMatch(/^\d\d:\d\d:\d\d {2}contact\.created +evt_1 +1\/5 +200 +20 ms {2}handled\n$/)
  })

  it('have advice once for each kind of failure, unless it has no usual cause', () => {
    const { written, display } = start()
    const refused = { ...attempt, status: undefined, failure: 'refused', phases: {} }
    const dropped = { ...refused, failure: 'reset', error: 'dropped by a fault', phases: undefined }
    const cut = { ...dropped, phases: {} }
    const unanswered = [dropped, cut, refused, refused]
    for (const each of [...unanswered, ...[422, 500].map((status) => ({ ...attempt, status, failure: 'status' }))])
      display.show({ type: 'attempt', delivery: DELIVERY, attempt: each })
    display.show({ type: 'attempt', delivery: DONE, attempt: { ...attempt, status: 404 } })
    expect(written.stderr).toMatch(
      /^reset: dropped by a fault\nreset: the receiver cut .*\nrefused: nothing listens at \S+ Is your app running, .*\n422: the schema .*late\.\n$/,
    )
  })

  it.each([true, undefined])('are counted, with their deliveries and results, as JSON or for people: %s', (json) => {
    const { written, display } = start({ ...(json && { json }) })
    for (const id of ['one', 'other', 'third']) display.show({ type: 'delivery', delivery: { ...DELIVERY, id } })
    // The third one fails, and succeeds when it is retried by hand.
    for (const [id, status] of Object.entries({ one: 'success', other: 'failed', third: 'failed' }))
      display.show({ type: 'attempt', delivery: { ...DELIVERY, id, status }, attempt })
    display.show({ type: 'delivery', delivery: { ...DELIVERY, id: 'third' } })
    display.show({ type: 'attempt', delivery: { ...DELIVERY, id: 'third', status: 'success' }, attempt })
    display.finish(3)
    expect(written.stderr).toBe('3 deliveries, 4 attempts: 2 acknowledged, 1 failed, 3 pending\n')
    const last = written.stdout.trimEnd().split('\n').slice(4)
    const summary = { type: 'summary', deliveries: 3, attempts: 4, succeeded: 2, failed: 1, pending: 3 }
    expect(last.map((line) => JSON.parse(line))).toEqual(json ? [summary] : [])
    const [first = ''] = written.stdout.split('\n')
    const next = '2025-01-01T12:00:31.020Z'
    const fields = { deliveryId: 'one', number: 1, of: 5, delivery: 'success', nextAttemptAt: next }
    if (json) expect(JSON.parse(first)).toMatchObject(fields)
  })
})

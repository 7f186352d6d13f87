import type { Delivery, ReplayedEvent, ReplayOutcome, ReplayResult } from 'postern/client'
import { describe, expect, it } from 'vitest'
import { countErrors, countOutcomes, formatBreak, formatSummary } from '../../tools/cli/output/replay-summary.ts'

const DELIVERY: Delivery = {
  ...{ id: 'dlv_1', state: 'failed', status: 'FAILED', eventId: 'evt_1', eventType: 'contact.created', attempts: 5 },
  ...{ createdAt: undefined, lastAttemptAt: undefined, nextAttemptAt: undefined, responseStatus: 500 },
  ...{ error: 'timeout', raw: {} },
}

function event(outcome: ReplayOutcome, before: Partial<Delivery> = {}, after?: Partial<Delivery>): ReplayedEvent {
  return { outcome, delivery: { ...DELIVERY, ...before }, after: after && { ...DELIVERY, ...after } }
}

const RESULT: ReplayResult = {
  ...{ events: [], retried: 0, resumed: 0, skipped: { delivered: 0, pending: 0 }, since: undefined },
}

describe('the summary of a replay', () => {
  it('counts the outcomes, what was left out, and the errors that are left, the most frequent first', () => {
    const events = [
      event('succeeded', {}, { responseStatus: 200 }),
      event('failed', {}, { responseStatus: 400 }),
      event('failed', {}, { responseStatus: 503 }),
      event('failed', {}, { responseStatus: undefined, error: 'dns\u001b' }),
      event('unresolved', { responseStatus: undefined, error: 'dns\u001b' }),
      event('gone', { responseStatus: undefined, error: undefined }),
      event('planned', { responseStatus: 503 }),
      event('not_retriable', { responseStatus: 503 }),
    ]
    const result = { ...RESULT, events, retried: 4, resumed: 2, skipped: { delivered: 3, pending: 1 } }
    expect(formatSummary(result)).toBe(
      [
        '1 to retry, 1 succeeded, 3 failed again, 1 without a result in time, 1 refused by the service, 1 gone',
        '2 retried by an earlier run, 4 by this one',
        '3 left out: delivered later',
        '1 left out: being delivered',
        '  3 x 503',
        '  2 x dns?',
        '  1 x 400',
        '  1 x not told',
        '',
      ].join('\n'),
    )
    const counts = { planned: 1, succeeded: 1, failed: 3, unresolved: 1, not_retriable: 1, gone: 1 }
    expect(countOutcomes(events)).toEqual(counts)
    expect(Object.fromEntries(countErrors(events))).toEqual({ 400: 1, 503: 3, 'dns\u001b': 2, 'not told': 1 })
  })

  it('names no outcome that did not occur', () => {
    expect(formatSummary(RESULT)).toBe('nothing to retry\n')
    const events = [event('succeeded', {}, { responseStatus: 200 })]
    expect(formatSummary({ ...RESULT, events, retried: 1 })).toBe('1 succeeded\n')
  })
})

describe('a replay that was broken off', () => {
  const progress = { total: 9, retried: 4, resumed: 0, refused: 1, succeeded: 2, failed: 1 }
  it('says what is known', () => {
    expect(formatBreak(undefined)).toBe('nothing was retried yet\n')
    expect(formatBreak(progress)).toBe('4 of 9 retried: 2 succeeded, 1 failed again as far as is known\n')
    expect(formatBreak({ ...progress, resumed: 3 })).toMatch(/^4 of 9 retried, 3 by an earlier run: 2 succeeded, 1 /)
  })
})

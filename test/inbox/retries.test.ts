import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Outcome } from '../../src/engine.ts'
import type { InboxTry, TakenItem } from '../../src/inbox/inbox.ts'
import { keepTry } from '../../src/inbox/inbox-table.ts'
import { checkRetries } from '../../src/inbox/retries.ts'
import { toSettlement } from '../../src/inbox/settle.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const RETENTION_MS = 7 * DAY

/** Options with a store that remembers for a week, and tries that take no time. */
const check = (options: object, retentionMs = RETENTION_MS, tryMs = 0) => checkRetries(options, retentionMs, tryMs)

function drawAlways(number: number) {
  const random = vi.spyOn(Math, 'random').mockReturnValue(number)
  onTestFinished(() => random.mockRestore())
}

describe('the default retries', () => {
  it('are ten tries of ten events concurrently', () => {
    expect(check({})).toMatchObject({ concurrency: 10, attempts: 10 })
  })

  it('wait from a second up to a day', () => {
    drawAlways(0.5)
    const { delayAfter } = check({})
    const delays = Array.from({ length: 12 }, (_, index) => delayAfter(index + 1))
    expect(delays).toEqual([
      ...[SECOND, 10 * SECOND, MINUTE, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 6 * HOUR, 12 * HOUR],
      ...[DAY, DAY, DAY, DAY],
    ])
  })
})

describe('custom retries', () => {
  it.each([
    ['throws', () => JSON.parse('{')],
    ['returns no number', () => 'soon'],
    ['returns a time that has passed', () => -1],
  ])('wait as long as usual if the function later %s', (_, later) => {
    drawAlways(0.5)
    let isChecked = false
    const delay = () => (isChecked ? later() : 5)
    const { delayAfter } = check({ delay })
    isChecked = true
    expect(delayAfter(2)).toBe(10 * SECOND)
  })
})

describe('retries are refused', () => {
  it.each([
    [{ concurrency: 0 }, 'option_invalid', /concurrency is 0; give a whole number from 1 to 1000/],
    [{ attempts: 0 }, 'option_invalid', /attempts is 0; give a whole number from 1 to 100/],
    [{ delay: () => -1 }, 'option_invalid', /delay\(1\) \w+ -1; it has to return milliseconds/],
    [
      { delay: (attempt: number) => (attempt < 9 ? 0 : Number.NaN) },
      'option_invalid',
      /delay\(9\) \w+ NaN; it has to return milliseconds/,
    ],
  ])('%j', (options, code, message) => {
    const refusal = expect.objectContaining({ code, message: expect.stringMatching(message) })
    expect(() => check(options as never)).toThrow(refusal)
  })

  it('only if all of them take longer than the store remembers, the tries included', () => {
    const options = { attempts: 4, delay: () => HOUR }
    expect(check(options, 3 * HOUR)).toBeDefined()
    expect(check(options, 3 * HOUR + 4 * MINUTE, MINUTE)).toBeDefined()
    const leastMs = 3 * HOUR + 4 * MINUTE
    const message = new RegExp(
      `4 tries can take 3\\.1 h, .* forgets after 3\\.0 h .* retentionMs of at least ${leastMs},`,
    )
    expect(() => check(options, 3 * HOUR, MINUTE)).toThrow(message)
    expect(() => check(options, 3 * HOUR - 1)).toThrow(/4 tries can take 3\.0 h/)
  })
})

describe('a try that ran nothing', () => {
  const of = (n: number, code: string) => ({ n, dueAt: n, startedAt: n, endedAt: n, code, worker: 'w' })
  const away = { outcome: 'failed', code: 'store_unavailable', error: new Error('away') } as unknown as Outcome
  const busy = { outcome: 'busy' } as unknown as Outcome

  it.each<[string, Outcome, InboxTry, readonly Partial<InboxTry>[]]>([
    ['continues one of its kind', away, of(2, 'store_unavailable'), [{ n: 2, startedAt: 2, endedAt: 9 }]],
    [
      'follows one of another kind',
      busy,
      of(2, 'store_unavailable'),
      [
        { n: 2, endedAt: 2 },
        { n: 3, startedAt: 8 },
      ],
    ],
  ])('%s, so that hours of them push out none that tell why', (_, outcome, last, expected) => {
    const tries = [of(1, 'handler_failed'), last]
    const item = { tries, dueAt: 7, worker: 'w', failures: 1, deaths: 0, signal: new AbortController().signal }
    const rules = { retries: check({}), leaseMs: 15_000, retentionMs: RETENTION_MS }
    const settlement = toSettlement(item as unknown as TakenItem, { outcome, marks: [] }, 8, 9, rules)
    const tried = settlement.next === 'wait' ? settlement.tried : undefined
    expect(tried && keepTry(tries, tried)).toMatchObject([{ n: 1 }, ...expected])
  })
})

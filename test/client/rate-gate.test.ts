import type { Wait } from 'postern/client'
import { manualClock } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { createRateGate, type RateHints, readRateHeaders } from '../../src/client/rate-gate.ts'

const never = new AbortController().signal

/** A gate on a clock that does not move, and the waits that it reported. */
function open() {
  const clock = manualClock()
  const waits: Wait[] = []
  const gate = createRateGate({ clock, maxWaitMs: 60_000, onWait: (wait) => waits.push(wait) })
  const learn = (number: number, hints: Partial<RateHints>, status = 200) =>
    gate.learn(
      number,
      { remaining: undefined, resetMs: undefined, limit: undefined, retryAfterMs: undefined, ...hints },
      status,
    )
  /** Enters, and returns the time that it had to wait, in milliseconds. */
  const enter = async () => {
    const from = clock.monotonic()
    const entered = gate.enter(never)
    let number: number | undefined
    entered.then((given) => {
      number = given
    })
    for (let turn = 0; turn < 5 && number === undefined; turn++) await Promise.resolve()
    while (number === undefined) await clock.next()
    return { number, waitedMs: clock.monotonic() - from }
  }
  return { clock, gate, waits, learn, enter }
}

describe('the rate gate', () => {
  it('uses the lowest count of the answers of one window, and its latest end', async () => {
    const { enter, learn } = open()
    await enter()
    await enter()
    learn(2, { remaining: 0, resetMs: 5_000 })
    learn(1, { remaining: 9, resetMs: 4_000 })
    expect((await enter()).waitedMs).toBe(5_000)
  })

  it.each([
    ['up to 1.5 s later for the same window', 6_499, 6_499],
    ['later than that for a new window', 6_500, 0],
  ])('uses an end that is %s', async (_what, resetMs, waitedMs) => {
    const { enter, learn } = open()
    await enter()
    await enter()
    learn(2, { remaining: 0, resetMs: 5_000 })
    learn(2, { remaining: 7, resetMs })
    expect((await enter()).waitedMs).toBe(waitedMs)
  })

  it('ignores a late answer of a window that is over', async () => {
    const { enter, learn } = open()
    await enter()
    await enter()
    learn(2, { remaining: 0, resetMs: 1_000 })
    await enter() // after the window
    learn(1, { remaining: 0, resetMs: 50_000 })
    expect((await enter()).waitedMs).toBe(0)
  })
})

const NOW = Date.parse('2025-06-01T12:00:00Z')
const read = (headers: Record<string, string>, now = NOW, status = 429) =>
  readRateHeaders({ headers: new Headers(headers), status }, now, 60_000)
const date = new Date(NOW).toUTCString()

describe('X-RateLimit-Reset', () => {
  it.each([
    ['seconds left', '30', 31_000],
    ['seconds left, with a fraction', '1.5', 2_500],
    ['seconds since 1970', String(NOW / 1_000 + 30), 31_000],
    ['milliseconds since 1970', String(NOW + 30_000), 30_000],
    ['an HTTP date', new Date(NOW + 30_000).toUTCString(), 31_000],
    ['a time that has passed', String(NOW / 1_000 - 90), 0],
  ])('is read as %s', (_unit, value, resetMs) => {
    expect(read({ 'x-ratelimit-reset': value }).resetMs).toBe(resetMs)
  })

  it.each(['', '-5', 'soon', '1e400', '99999999999999999'])('is not read: %j', (value) => {
    expect(read({ 'x-ratelimit-reset': value }).resetMs).toBeUndefined()
  })

  const reset = String(NOW / 1_000 + 30)
  it.each([
    ['our clock is an hour ahead', 3_600_000],
    ['our clock is an hour behind', -3_600_000],
  ])("is relative to the answer's own Date if %s", (_what, skew) => {
    expect(read({ 'x-ratelimit-reset': reset, date }, NOW + skew).resetMs).toBe(31_000)
  })

  it("is relative to the client's clock if the Date makes no sense, as with a service whose time does not move", () => {
    expect(read({ 'x-ratelimit-reset': reset, date: 'Fri, 20 Nov 2026 12:00:00 GMT' }).resetMs).toBe(31_000)
    expect(read({ 'x-ratelimit-reset': reset, date: 'Wed, 20 Nov 2024 12:00:00 GMT' }).resetMs).toBe(31_000)
    expect(read({ 'x-ratelimit-reset': reset, date: 'yesterday' }).resetMs).toBe(31_000)
  })
})

it('the other headers are counts, or ignored', () => {
  expect(read({ 'x-ratelimit-limit': '50', 'x-ratelimit-remaining': '0' })).toMatchObject({ limit: 50, remaining: 0 })
  expect(read({ 'x-ratelimit-limit': '-1', 'x-ratelimit-remaining': 'many' })).toMatchObject({
    limit: undefined,
    remaining: undefined,
  })
  expect(read({})).toEqual({ limit: undefined, remaining: undefined, resetMs: undefined, retryAfterMs: undefined })
})

import { describe, expect, it } from 'vitest'
import { readRateHeaders } from '../../src/client/rate-gate.ts'

const NOW = Date.parse('2025-06-01T12:00:00Z')
const read = (headers: Record<string, string>, now = NOW) => readRateHeaders(new Headers(headers), now, 60_000)
const date = new Date(NOW).toUTCString()

describe('X-RateLimit-Reset', () => {
  it.each([
    ['seconds left', '30', 31_000],
    ['seconds left, with a fraction', '1.5', 2_500],
    ['none left', '0', 0],
    ['seconds since 1970', String(NOW / 1_000 + 30), 31_000],
    ['milliseconds since 1970', String(NOW + 30_000), 30_000],
    ['an HTTP date', new Date(NOW + 30_000).toUTCString(), 31_000],
    ['a time that has passed', String(NOW / 1_000 - 90), 0],
    ['ISO 8601', new Date(NOW + 30_000).toISOString(), 31_000],
  ])('is read as %s', (_unit, value, resetMs) => {
    expect(read({ 'x-ratelimit-reset': value }).resetMs).toBe(resetMs)
  })

  it.each(['', ' ', '-5', 'soon', 'NaN', 'Infinity', '1e400', '99999999999999999'])('is not read: %j', (value) => {
    expect(read({ 'x-ratelimit-reset': value }).resetMs).toBeUndefined()
  })

  const reset = String(NOW / 1_000 + 30)
  it.each([
    ['our clock is an hour ahead', 3_600_000],
    ['our clock is an hour behind', -3_600_000],
    ['our clock is 40 s ahead', 40_000],
    ['our clock is 20 s behind', -20_000],
  ])("is relative to the answer's own Date if %s", (_what, skew) => {
    expect(read({ 'x-ratelimit-reset': reset, date }, NOW + skew).resetMs).toBe(31_000)
  })

  it("is relative to the client's clock if the Date makes no sense, as with a service whose time does not move", () => {
    expect(read({ 'x-ratelimit-reset': reset, date: 'Fri, 20 Nov 2026 12:00:00 GMT' }).resetMs).toBe(31_000)
    expect(read({ 'x-ratelimit-reset': reset, date: 'Wed, 20 Nov 2024 12:00:00 GMT' }).resetMs).toBe(31_000)
    expect(read({ 'x-ratelimit-reset': reset, date: 'yesterday' }).resetMs).toBe(31_000)
  })
})

describe('the other headers', () => {
  it('are counts, or ignored', () => {
    expect(read({ 'x-ratelimit-limit': '50', 'x-ratelimit-remaining': '0' })).toMatchObject({ limit: 50, remaining: 0 })
    expect(read({ 'x-ratelimit-limit': '-1', 'x-ratelimit-remaining': 'many' })).toMatchObject({
      limit: undefined,
      remaining: undefined,
    })
    expect(read({ 'x-ratelimit-limit': '50, 100;w=60', 'x-ratelimit-remaining': '' })).toMatchObject({
      limit: undefined,
      remaining: undefined,
    })
    expect(read({})).toEqual({ limit: undefined, remaining: undefined, resetMs: undefined, retryAfterMs: undefined })
  })

  it('Retry-After takes precedence over the reset', () => {
    expect(read({ 'retry-after': '2', 'x-ratelimit-reset': '30' }).retryAfterMs).toBe(3_000)
    expect(read({ 'retry-after': new Date(NOW + 5_000).toUTCString() }).retryAfterMs).toBe(6_000)
    expect(read({ 'x-ratelimit-reset': '30' }).retryAfterMs).toBe(31_000)
  })
})

import { describe, expect, it } from 'vitest'
import { busy, WEBHOOK } from './replies.ts'
import { clientOf, collect, HastyClock, type Reply, serve } from './support.ts'

describe('the rate limit', () => {
  /** Accepts `limit` requests in a window, and announces it in one of the ways. */
  function startLimited(
    limit: number,
    windowMs: number,
    clock: HastyClock,
    say: (left: number, resetMs: number) => Record<string, string>,
  ) {
    let [count, startedAt, refused] = [0, Number.NEGATIVE_INFINITY, 0]
    const answer = (): Reply => {
      const now = clock.monotonic()
      if (now >= startedAt + windowMs) [count, startedAt] = [0, now]
      count++
      const headers = {
        date: new Date(clock.now()).toUTCString(),
        'x-ratelimit-limit': String(limit),
        ...say(Math.max(0, limit - count), startedAt + windowMs - now),
      }
      if (count <= limit) return { body: [], headers }
      refused++
      return { status: 429, headers }
    }
    return { answer, refused: () => refused }
  }

  it.each<[string, (resetMs: number, now: number) => string]>([
    ['seconds left, rounded down', (resetMs) => String(Math.floor(resetMs / 1_000))],
    ['seconds left, rounded up', (resetMs) => String(Math.ceil(resetMs / 1_000))],
    ['seconds since 1970, rounded down', (resetMs, now) => String(Math.floor((now + resetMs) / 1_000))],
    ['milliseconds since 1970', (resetMs, now) => String(now + resetMs)],
  ])('is respected, so that no request is refused: 90 at 15 per 2 s, %s', async (_unit, toReset) => {
    const clock = new HastyClock()
    const limited = startLimited(15, 2_000, clock, (left, resetMs) => ({
      'x-ratelimit-remaining': String(left),
      'x-ratelimit-reset': toReset(resetMs, clock.now()),
    }))
    const service = await serve(limited.answer)
    const client = clientOf(service, { clock })
    await collect(client.contacts())
    const work = Array.from({ length: 4 }, async () => {
      for (let n = 0; n < 23; n++) await collect(client.contacts())
    })
    await Promise.all(work)
    expect(limited.refused()).toBe(0)
    expect(service.calls).toHaveLength(93)
    // At each of the 6 windows a second may have been rounded off, and the Date header has whole seconds too.
    expect(clock.monotonic()).toBeGreaterThanOrEqual(10_000)
    expect(clock.monotonic()).toBeLessThanOrEqual(24_000)
  })

  it('is used up after a 429, whatever it says is left', async () => {
    const clock = new HastyClock()
    const headers = { 'x-ratelimit-remaining': '5', 'x-ratelimit-reset': '50', 'retry-after': '7' }
    const service = await serve((_, count) => (count === 1 ? busy(headers) : { body: WEBHOOK }))
    const client = clientOf(service, { clock, maxRetries: 0 })
    await expect(client.webhooks.get('w1')).rejects.toMatchObject({ code: 'rate_limited' })
    expect(clock.waits).toEqual([])
    await client.webhooks.get('w1')
    expect(clock.waits).toEqual([8_000])
  })

  it('of the login is separate from that of the calls', async () => {
    const clock = new HastyClock()
    const spent = { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '50' }
    const service = await serve(
      () => ({ body: WEBHOOK }),
      () => ({ body: { accessToken: 'a' }, headers: spent }),
    )
    await clientOf(service, { clock }).webhooks.get('w1')
    expect(clock.waits).toEqual([])
  })
})

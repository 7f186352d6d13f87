import { afterEach, describe, expect, it, vi } from 'vitest'
import { busy, WEBHOOK } from './replies.ts'
import { clientOf, collect, HastyClock, type Reply, type Service, startService } from './support.ts'

let service: Service
afterEach(() => service.close())

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
    service = await startService(limited.answer)
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

  it('lets as many requests out as are left, and reports the wait for more', async () => {
    const clock = new HastyClock()
    const limited = startLimited(3, 10_000, clock, (left, resetMs) => ({
      'x-ratelimit-remaining': String(left),
      'x-ratelimit-reset': String(clock.now() + resetMs),
    }))
    service = await startService(limited.answer)
    const onWait = vi.fn()
    const client = clientOf(service, { clock, onWait })
    for (let n = 0; n < 3; n++) await collect(client.contacts())
    expect(onWait).not.toHaveBeenCalled()
    for (let n = 0; n < 3; n++) await collect(client.contacts())
    expect(onWait.mock.calls).toEqual([[{ ms: clock.waits[0], reason: 'rate_limit' }]])
    expect(clock.monotonic()).toBeGreaterThanOrEqual(10_000)
    expect(clock.monotonic()).toBeLessThan(11_000)
    expect(limited.refused()).toBe(0)
  })

  it('is waited for no longer than the longest wait, and one request then probes', async () => {
    const spent = { 'x-ratelimit-limit': '9', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '7200' }
    service = await startService(() => ({ body: WEBHOOK, headers: spent }))
    const clock = new HastyClock()
    const client = clientOf(service, { clock })
    for (let n = 0; n < 3; n++) await client.webhooks.get('w1')
    expect(clock.waits).toEqual([60_000, 60_000])
  })

  it('stays used up even if an earlier answer arrives later and names more', async () => {
    const clock = new HastyClock()
    const left = (remaining: number) => ({ 'x-ratelimit-remaining': String(remaining), 'x-ratelimit-reset': '50' })
    let answerFirst = () => {}
    const isLate = new Promise<void>((resolve) => {
      answerFirst = resolve
    })
    service = await startService(async ({ path }) => {
      if (!path.endsWith('first')) return { body: WEBHOOK, headers: left(0) }
      await isLate
      return { body: WEBHOOK, headers: left(9) }
    })
    const client = clientOf(service, { clock })
    const first = client.webhooks.get('first')
    await vi.waitFor(() => expect(service.calls).toHaveLength(1), 60_000)
    await client.webhooks.get('w1')
    answerFirst()
    await first
    expect(clock.waits).toEqual([])
    await client.webhooks.get('w1')
    expect(clock.waits).toEqual([51_000])
  })

  it('is used up after a 429, whatever it says is left', async () => {
    const clock = new HastyClock()
    const headers = { 'x-ratelimit-remaining': '5', 'x-ratelimit-reset': '50', 'retry-after': '7' }
    service = await startService((_, count) => (count === 1 ? busy(headers) : { body: WEBHOOK }))
    const client = clientOf(service, { clock, maxRetries: 0 })
    await expect(client.webhooks.get('w1')).rejects.toMatchObject({ code: 'rate_limited' })
    expect(clock.waits).toEqual([])
    await client.webhooks.get('w1')
    expect(clock.waits).toEqual([8_000])
  })

  it('of a past window stops nothing, even if a late answer names it', async () => {
    const clock = new HastyClock()
    const headers = (remaining: number, reset: number) => ({
      'x-ratelimit-limit': '5',
      'x-ratelimit-remaining': String(remaining),
      'x-ratelimit-reset': String(reset),
    })
    let answerLate = () => {}
    const isLate = new Promise<void>((resolve) => {
      answerLate = resolve
    })
    service = await startService(async ({ path }) => {
      if (!path.endsWith('late')) return { body: WEBHOOK, headers: headers(path.endsWith('w0') ? 0 : 3, 10) }
      await isLate
      return { body: WEBHOOK, headers: headers(0, 50) }
    })
    const client = clientOf(service, { clock })
    const late = client.webhooks.get('late')
    await vi.waitFor(() => expect(service.calls).toHaveLength(1), 60_000)
    await client.webhooks.get('w0')
    await client.webhooks.get('w1')
    expect(clock.waits).toEqual([11_000])
    answerLate()
    await late
    await client.webhooks.get('w1')
    expect(clock.waits).toEqual([11_000])
  })

  it('is learnt from a 429 if there are no other headers', async () => {
    const clock = new HastyClock()
    const limited = startLimited(5, 2_000, clock, () => ({}))
    service = await startService(limited.answer)
    const client = clientOf(service, { clock })
    for (let n = 0; n < 20; n++) await collect(client.contacts())
    expect(service.calls).toHaveLength(20 + limited.refused())
  })

  it('of the login is separate from that of the calls', async () => {
    const clock = new HastyClock()
    const spent = { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '50' }
    service = await startService(
      () => ({ body: WEBHOOK }),
      () => ({ body: { accessToken: 'a' }, headers: spent }),
    )
    await clientOf(service, { clock }).webhooks.get('w1')
    expect(clock.waits).toEqual([])
  })

  it.each([
    ['-1', '0', '5'],
    ['0', '0', '0'],
    ['many', 'few', 'soon'],
    ['5', '-3', '99999999999999999999'],
    ['', '', ''],
  ])('that makes no sense stops nothing: %j %j %j', async (limit, remaining, reset) => {
    const headers = { 'x-ratelimit-limit': limit, 'x-ratelimit-remaining': remaining, 'x-ratelimit-reset': reset }
    service = await startService(() => ({ body: WEBHOOK, headers }))
    const client = clientOf(service)
    for (let n = 0; n < 3; n++) expect(await client.webhooks.get('w1')).toMatchObject({ id: 'w1' })
  })
})

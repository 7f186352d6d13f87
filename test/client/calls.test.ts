import { createServer } from 'node:net'
import { systemClock } from 'postern'
import type { ServiceError } from 'postern/client'
import { describe, expect, it, vi } from 'vitest'
import { busy, cut, drop, WEBHOOK } from './replies.ts'
import { clientOf, failureOf, HastyClock, type Reply, serve } from './support.ts'

const NEW = { url: WEBHOOK.url, events: WEBHOOK.events }

describe('a temporary failure', () => {
  it.each<[string, Reply]>([
    ['500', { status: 500 }],
    ['408', { status: 408 }],
    ['429', busy()],
    ['a dropped connection', drop],
    ['an answer that is cut', cut],
  ])('is retried: %s', async (_what, reply) => {
    const service = await serve((_, count) => (count < 4 ? reply : { body: WEBHOOK }))
    const clock = new HastyClock()
    expect(await clientOf(service, { clock }).webhooks.get('w1')).toMatchObject({ id: 'w1' })
    expect(clock.waits).toEqual([250, 500, 1_000]) // half of a limit that doubles
  })

  it.each<[string, Reply, string, Partial<ServiceError>]>([
    ['500', { status: 500, body: { message: ['a', 'b'] } }, 'service_failed', { status: 500, serviceMessage: 'a; b' }],
    ['429', busy({ 'retry-after': '7' }), 'rate_limited', { status: 429, body: 'slow down', retryAfterMs: 8_000 }],
    ['a dropped connection', drop, 'service_unreachable', { status: undefined }],
    ['an answer that is cut', cut, 'service_unreachable', { status: undefined }],
  ])('that lasts is reported: %s', async (_what, reply, code, facts) => {
    const service = await serve(() => reply)
    expect(await failureOf(clientOf(service).webhooks.get('w1'))).toMatchObject({ code, attempts: 6, ...facts })
    expect(service.calls).toHaveLength(6)
  })

  it.each<[string, Record<string, string>, number]>([
    ['seconds', { 'retry-after': '7' }, 8_250],
    ['a date', { 'retry-after': 'in 7 s' }, 8_250],
    ['longer than the cap', { 'retry-after': '7200' }, 60_000],
    ['seconds left', { 'x-ratelimit-reset': '7' }, 8_250],
  ])('is retried as late as the service asks: %s', async (_what, headers, wait) => {
    const inTime = () => new Date(Date.now() + 7_000).toUTCString()
    const said = () => (headers['retry-after'] === 'in 7 s' ? { 'retry-after': inTime() } : headers)
    const service = await serve((_, count) => (count === 1 ? busy(said()) : { body: WEBHOOK }))
    const clock = new HastyClock()
    const onWait = vi.fn()
    await clientOf(service, { clock, onWait }).webhooks.get('w1')
    expect(Math.abs((clock.waits[0] ?? 0) - wait)).toBeLessThanOrEqual(1_500)
    expect(onWait).toHaveBeenCalledWith({ ms: clock.waits[0], reason: 'rate_limit' })
  })

  it('of a server that cannot be reached is reported with its cause', async () => {
    const service = await serve(() => ({}))
    const closed = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => closed.once('listening', resolve))
    const { port } = closed.address() as { port: number } // listening on a port
    closed.close()
    const gone = `http://127.0.0.1:${port}`
    const facts = { code: 'service_unreachable', attempts: 6, cause: { code: 'ECONNREFUSED' } }
    expect(await failureOf(clientOf({ url: gone }).webhooks.list())).toMatchObject(facts)
    // It may be sent only once, and was never sent.
    const client = clientOf(service, {
      fetch: (request) => (request.url.endsWith('/login') ? fetch(request) : fetch(gone, { method: 'POST' })),
    })
    const error = await failureOf(client.webhooks.create(NEW))
    expect(error).toMatchObject({ ...facts, route: 'POST /api/integrations/webhooks' })
  })

  it.each<[string, Reply, number, string]>([
    ['a service', () => {}, 1, '2 tries'],
    ['a body', (response) => void response.writeHead(200).write('{"_id":'), 0, '1 try'],
  ])('may be %s that hangs', async (_what, reply, maxRetries, tries) => {
    const service = await serve(() => reply)
    const options = { clock: systemClock, timeoutMs: 300, maxRetries }
    const error = await failureOf(clientOf(service, options).webhooks.get('w1'))
    expect(error).toMatchObject({ code: 'service_unreachable', attempts: maxRetries + 1 })
    expect(String(error)).toContain(`/w1: no answer after ${tries} (no whole answer within 300 ms)`)
  })

  it('is retried after longer and longer waits, up to the longest wait', async () => {
    const service = await serve((_, count) => (count < 11 ? { status: 500 } : { body: WEBHOOK }))
    const clock = new HastyClock()
    await clientOf(service, { clock, maxRetries: 10, maxWaitMs: 20_000 }).webhooks.get('w1')
    expect(clock.waits).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000, 10_000, 10_000])
  })

  it('is retried soon although the answer says when the window of the rate limit ends, as every answer does', async () => {
    const headers = { 'x-ratelimit-limit': '100', 'x-ratelimit-remaining': '99', 'x-ratelimit-reset': '60' }
    const service = await serve((_, count) =>
      count < 3 ? { status: count === 1 ? 500 : 408, headers } : { body: WEBHOOK },
    )
    const clock = new HastyClock()
    await clientOf(service, { clock }).webhooks.get('w1')
    expect(clock.waits).toEqual([250, 500])
  })

  it('is retried as late as its own answer asks, and not that of an earlier try', async () => {
    const replies: Reply[] = [{ status: 503, headers: { 'retry-after': '7' } }, drop]
    const service = await serve((_, count) => replies[count - 1] ?? { body: WEBHOOK })
    const clock = new HastyClock()
    await clientOf(service, { clock }).webhooks.get('w1')
    expect(clock.waits).toEqual([8_250, 500])
  })

  it.each([0, 2])('leaves one repeat for the login after a 401 if %d repeats are allowed', async (maxRetries) => {
    const failures = Array.from({ length: maxRetries }, (): Reply => ({ status: 500 }))
    const replies = [...failures.slice(1), { status: 401 }, ...failures.slice(0, 1)]
    const service = await serve((_, count) => replies[count - 1] ?? { body: WEBHOOK })
    const clock = new HastyClock()
    expect(await clientOf(service, { maxRetries, clock }).webhooks.get('w1')).toMatchObject({ id: 'w1' })
    expect([service.logins, service.calls.length]).toEqual([2, maxRetries + 2])
    expect(clock.waits).toHaveLength(maxRetries) // none before the login
  })
})

describe('a request that may have been carried out', () => {
  const calls = {
    create: (client: ReturnType<typeof clientOf>) => client.webhooks.create(NEW),
    retry: (client: ReturnType<typeof clientOf>) => client.retry('w1', 'd1'),
  }
  const each = Object.entries(calls)

  it.each(
    each.flatMap(([name, call]) =>
      [
        ['a dropped connection', drop] as const,
        ['an answer that is cut', cut] as const,
        ['500', { status: 500 }] as const,
        ['504', { status: 504 }] as const,
      ].map((reply) => [name, ...reply, call] as const),
    ),
  )('is not sent again: %s after %s', async (_name, _what, reply, call) => {
    const service = await serve(() => reply)
    const error = await failureOf(call(clientOf(service)))
    expect(error).toMatchObject({ code: 'outcome_unknown', attempts: 1 })
    if (typeof reply === 'function') expect(error).toMatchObject({ cause: expect.any(Error) })
    expect(service.calls).toHaveLength(1)
  })

  it.each(
    each.flatMap(([name, call]) =>
      [['429', busy()] as const, ['401', { status: 401 }] as const].map((reply) => [name, ...reply, call] as const),
    ),
  )('is sent again if the service has refused it: %s after %s', async (_name, _what, reply, call) => {
    const service = await serve((_, count) => (count === 1 ? reply : { body: { ...WEBHOOK, secret: 'whsec_1' } }))
    await call(clientOf(service))
    expect(service.calls).toHaveLength(2)
  })

  it('is sent again if a repetition has no further effect', async () => {
    const service = await serve((_, count) => (count === 1 ? cut : { body: WEBHOOK }))
    const client = clientOf(service)
    await client.webhooks.pause('w1')
    expect(service.calls).toHaveLength(2)
    expect(service.seen.map(({ body }) => body).slice(1)).toEqual(['{"active":false}', '{"active":false}'])
  })

  it('counts a deletion as done if its answer was lost and the webhook is gone', async () => {
    const service = await serve((_, count) => (count === 1 ? cut : { status: 404 }))
    await clientOf(service).webhooks.delete('w1')
    await expect(clientOf(service).webhooks.delete('w1')).rejects.toMatchObject({ code: 'not_found' })
  })

  it('does not count a deletion as done if the service fails for ever', async () => {
    const service = await serve(() => ({ status: 500 }))
    await expect(clientOf(service).webhooks.delete('w1')).rejects.toMatchObject({ code: 'service_failed', attempts: 6 })
  })
})

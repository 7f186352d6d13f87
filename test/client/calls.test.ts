import { createServer } from 'node:net'
import type { ServiceError } from 'postern/client'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { busy, cut, drop, WEBHOOK } from './replies.ts'
import { clientOf, failureOf, HastyClock, type Reply, type Service, startService } from './support.ts'

let service: Service
afterEach(() => service.close())

const NEW = { url: WEBHOOK.url, events: WEBHOOK.events }

describe('a failure that passes', () => {
  it.each<[string, Reply]>([
    ['500', { status: 500 }],
    ['503 in HTML', { status: 503, body: '<html>busy</html>' }],
    ['408', { status: 408 }],
    ['429', busy()],
    ['a dropped connection', drop],
    ['an answer that is cut', cut],
  ])('is waited out: %s', async (_what, reply) => {
    service = await startService((_, count) => (count < 4 ? reply : { body: WEBHOOK }))
    const clock = new HastyClock()
    expect(await clientOf(service, { clock }).webhooks.get('w1')).toMatchObject({ id: 'w1' })
    expect(clock.waits).toEqual([250, 500, 1_000]) // half of a limit that doubles
  })

  it.each<[string, Reply, string, Partial<ServiceError>]>([
    ['500', { status: 500, body: { message: ['a', 'b'] } }, 'service_failed', { status: 500, serviceMessage: 'a; b' }],
    ['429', busy(), 'rate_limited', { status: 429, body: 'slow down' }],
    ['a dropped connection', drop, 'service_unreachable', { status: undefined }],
    ['an answer that is cut', cut, 'service_unreachable', { status: undefined }],
  ])('that does not pass is told: %s', async (_what, reply, code, facts) => {
    service = await startService(() => reply)
    expect(await failureOf(clientOf(service).webhooks.get('w1'))).toMatchObject({ code, attempts: 6, ...facts })
    expect(service.calls).toHaveLength(6)
  })

  it('may be told at once', async () => {
    service = await startService(() => ({ status: 500 }))
    expect(await failureOf(clientOf(service, { maxRetries: 0 }).webhooks.get('w1'))).toMatchObject({ attempts: 1 })
  })

  it.each<[string, Record<string, string>, number]>([
    ['seconds', { 'retry-after': '7' }, 8_250],
    ['a date', { 'retry-after': 'in 7 s' }, 8_250],
    ['longer than the cap', { 'retry-after': '7200' }, 60_000],
    ['seconds left', { 'x-ratelimit-reset': '7' }, 8_250],
  ])('is waited out as long as the service asks: %s', async (_what, headers, wait) => {
    const inTime = () => new Date(Date.now() + 7_000).toUTCString()
    const said = () => (headers['retry-after'] === 'in 7 s' ? { 'retry-after': inTime() } : headers)
    service = await startService((_, count) => (count === 1 ? busy(said()) : { body: WEBHOOK }))
    const clock = new HastyClock()
    const onWait = vi.fn()
    await clientOf(service, { clock, onWait }).webhooks.get('w1')
    expect(Math.abs((clock.waits[0] ?? 0) - wait)).toBeLessThanOrEqual(1_500)
    expect(onWait).toHaveBeenCalledWith({ ms: clock.waits[0], reason: 'back_off' })
  })

  it('of a server that is not there is told with its cause', async () => {
    service = await startService(() => ({}))
    const closed = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => closed.once('listening', resolve))
    const { port } = closed.address() as { port: number } // listening on a port
    closed.close()
    const error = await failureOf(clientOf({ url: `http://127.0.0.1:${port}` }).webhooks.create(NEW))
    expect(error).toMatchObject({ code: 'service_unreachable', attempts: 6, cause: { code: 'ECONNREFUSED' } })
  })

  it('may be a service that hangs', async () => {
    service = await startService(() => () => {})
    const options = { timeoutMs: 100, maxRetries: 1 }
    const error = await failureOf(clientOf(service, options).webhooks.get('w1'))
    expect(error).toMatchObject({ code: 'service_unreachable', attempts: 2 })
    expect(String(error)).toContain('no whole answer within 100 ms')
  })
})

describe('what may have been carried out', () => {
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
    service = await startService(() => reply)
    const error = await failureOf(call(clientOf(service)))
    expect(error).toMatchObject({ code: 'outcome_unknown', attempts: 1 })
    expect(service.calls).toHaveLength(1)
  })

  it.each(
    each.flatMap(([name, call]) =>
      [['429', busy()] as const, ['401', { status: 401 }] as const].map((reply) => [name, ...reply, call] as const),
    ),
  )('is sent again where the service has refused it: %s after %s', async (_name, _what, reply, call) => {
    service = await startService((_, count) => (count === 1 ? reply : { body: { ...WEBHOOK, secret: 'whsec_1' } }))
    await call(clientOf(service))
    expect(service.calls).toHaveLength(2)
  })

  it('is sent again where it has the same effect as once', async () => {
    service = await startService((_, count) => (count === 1 ? cut : { body: WEBHOOK }))
    const client = clientOf(service)
    await client.webhooks.pause('w1')
    expect(service.calls).toHaveLength(2)
    expect(service.seen.map(({ body }) => body).slice(1)).toEqual(['{"active":false}', '{"active":false}'])
  })

  it('counts a deletion as done where its answer was lost and the webhook is gone', async () => {
    service = await startService((_, count) => (count === 1 ? cut : { status: 404 }))
    await clientOf(service).webhooks.delete('w1')
    await expect(clientOf(service).webhooks.delete('w1')).rejects.toMatchObject({ code: 'not_found' })
  })
})

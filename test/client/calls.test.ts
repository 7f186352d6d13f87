import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { ServiceError } from 'postern/client'
import { afterEach, describe, expect, it, vi } from 'vitest'
import {
  clientOf,
  collect,
  EMAIL,
  failureOf,
  HastyClock,
  PASSWORD,
  type Reply,
  type Seen,
  type Service,
  startService,
} from './support.ts'

let service: Service
afterEach(() => service.close())

const WEBHOOK = { _id: 'w1', url: 'https://app.example.test/hooks', events: ['contact.created'], active: true }
const NEW = { url: WEBHOOK.url, events: WEBHOOK.events }
const cut: Reply = (response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
  response.write('{"_id":')
  response.socket?.destroy()
}
const drop: Reply = (response) => response.socket?.destroy()
const busy = (headers: Record<string, string> = {}): Reply => ({ status: 429, body: 'slow down', headers })

describe('the login', () => {
  it('is made once, however many calls wait for it, and its token kept', async () => {
    service = await startService(() => ({ body: WEBHOOK }))
    const client = clientOf(service)
    await Promise.all(Array.from({ length: 20 }, () => client.webhooks.get('w1')))
    await client.webhooks.get('w1')
    expect(service.logins).toBe(1)
    expect(JSON.parse(service.seen[0]?.body ?? '')).toEqual({ email: EMAIL, password: PASSWORD })
    expect(service.seen[0]?.authorization).toBeUndefined()
    expect(new Set(service.seen.slice(1).map(({ authorization }) => authorization))).toEqual(
      new Set(['Bearer token-1']),
    )
  })

  it('is made again, once, where many calls get 401', async () => {
    service = await startService(({ authorization }) =>
      authorization === 'Bearer token-1' ? { status: 401 } : { body: WEBHOOK },
    )
    const client = clientOf(service)
    const webhooks = await Promise.all(Array.from({ length: 20 }, () => client.webhooks.get('w1')))
    expect(webhooks).toHaveLength(20)
    expect(service.logins).toBe(2)
  })

  it('is not made for ever where every token gets 401', async () => {
    service = await startService(() => ({ status: 401, body: { message: 'no' } }))
    expect(await failureOf(clientOf(service).webhooks.get('w1'))).toMatchObject({ code: 'token_refused', attempts: 2 })
    expect(service.logins).toBe(2)
  })

  it.each([404, 405])('that is not at that address is no wrong password: %d', async (status) => {
    service = await startService(
      () => ({}),
      () => ({ status }),
    )
    const error = await failureOf(clientOf(service).webhooks.get('w1'))
    expect(error).toMatchObject({ code: 'service_unreachable', status, message: expect.stringMatching(/base URL/) })
  })

  it.each([400, 401, 403, 422])('that is refused with %d is told, and not repeated', async (status) => {
    service = await startService(
      () => ({}),
      () => ({ status, body: { error: { message: `${PASSWORD} is wrong` } } }),
    )
    const error = await failureOf(clientOf(service).webhooks.get('w1'))
    expect(error).toMatchObject({ code: 'login_refused', status, serviceMessage: '[redacted] is wrong' })
    expect(service.logins).toBe(1)
    expect(service.calls).toEqual([])
  })

  it('is made again before the token expires, whatever the wall clock does', async () => {
    service = await startService(() => ({ body: WEBHOOK }))
    const clock = new HastyClock()
    const client = clientOf(service, { clock })
    await client.webhooks.get('w1')
    clock.advance(58 * 60_000)
    clock.skewMs = 10 * 3_600_000
    await client.webhooks.get('w1')
    expect(service.logins).toBe(1)
    clock.skewMs = -10 * 3_600_000
    clock.advance(61_000)
    await client.webhooks.get('w1')
    expect(service.logins).toBe(2)
  })

  it.each<[string, Reply, string]>([
    ['no token', { body: { token_type: 'x' } }, 'answer_unusable'],
    ['an HTML page', { body: '<html>welcome</html>' }, 'answer_unusable'],
    ['a token of a wrong type', { body: { accessToken: 5 } }, 'answer_unusable'],
    ['a token with a line break', { body: { accessToken: 'a\r\nx-evil: 1' } }, 'answer_unusable'],
    ['nothing', { status: 204 }, 'answer_unusable'],
    ['a redirect', { status: 302, headers: { location: 'https://elsewhere.test/secret' } }, 'redirect_refused'],
    ['502 for ever', { status: 502 }, 'service_failed'],
    ['429 for ever', busy(), 'rate_limited'],
    ['a cut connection for ever', drop, 'service_unreachable'],
  ])('that gives %s fails as %s', async (_what, reply, code) => {
    service = await startService(
      () => ({}),
      () => reply,
    )
    expect(await failureOf(clientOf(service).webhooks.get('w1'))).toMatchObject({
      code,
      route: 'POST /api/identity/auth/login',
    })
  })

  it('takes a wrapped answer and a lifetime as text', async () => {
    service = await startService(
      () => ({ body: WEBHOOK }),
      () => ({ body: { data: { accessToken: 'abc', expiresIn: '3600' } } }),
    )
    await clientOf(service).webhooks.get('w1')
    expect(service.seen[1]?.authorization).toBe('Bearer abc')
  })
})

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

describe('a refusal', () => {
  const long = 'x'.repeat(5_000)
  it.each<[string, number, unknown, string, string | undefined]>([
    [
      '{statusCode, error, message}',
      422,
      { statusCode: 422, error: 'Unprocessable', message: 'bad url' },
      'request_refused',
      'bad url',
    ],
    ['{error: {code, message}}', 400, { error: { code: 'x', message: 'bad url' } }, 'request_refused', 'bad url'],
    ['a list of messages', 400, { message: ['bad url', 'bad events'] }, 'request_refused', 'bad url; bad events'],
    ['problem+json', 404, { title: 'Not found', detail: 'no such thing' }, 'not_found', 'no such thing'],
    ['a list of errors', 400, { errors: [{ message: 'bad url' }] }, 'request_refused', 'bad url'],
    ['text', 403, 'forbidden', 'not_found', 'forbidden'],
    ['HTML', 405, '<html><h1>Nope</h1></html>', 'request_refused', undefined],
    ['nothing', 409, undefined, 'request_refused', undefined],
    ['JSON of no form', 410, [[[[['deep']]]]], 'request_refused', undefined],
    ['a long text', 400, long, 'request_refused', long.slice(0, 300)],
  ])('is understood as far as possible: %s', async (_form, status, body, code, serviceMessage) => {
    service = await startService(() => ({ status, body }))
    const error = await failureOf(clientOf(service).webhooks.get('w1'))
    expect(error).toBeInstanceOf(ServiceError)
    expect(error).toMatchObject({
      code,
      status,
      serviceMessage,
      attempts: 1,
      route: 'GET /api/integrations/webhooks/w1',
    })
    expect((error as ServiceError).body?.length).toBeLessThanOrEqual(2_048) // it is one, see above
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

describe('redirects', () => {
  it.each([301, 302, 303, 307, 308])('are not followed: %d', async (status) => {
    const elsewhere = await startService(() => ({ body: WEBHOOK }))
    service = await startService(() => ({ status, headers: { location: `${elsewhere.url}/x?token=1` } }))
    const error = await failureOf(clientOf(service).webhooks.get('w1'))
    expect(error).toMatchObject({ code: 'redirect_refused', status })
    expect(String(error)).toContain(`redirects to ${elsewhere.url}.`)
    expect(elsewhere.seen).toEqual([])
    await elsewhere.close()
  })

  it('are told where the given fetch follows them all the same', async () => {
    service = await startService(({ path }) =>
      path === '/there' ? { body: WEBHOOK } : { status: 302, headers: { location: '/there' } },
    )
    const options = { fetch: (request: Request) => fetch(new Request(request, { redirect: 'follow' })) }
    expect(await failureOf(clientOf(service, options).webhooks.get('w1'))).toMatchObject({ code: 'redirect_refused' })
  })
})

describe('a signal', () => {
  const reason = new Error('enough')

  it('that has aborted lets nothing out', async () => {
    service = await startService(() => ({ body: WEBHOOK }))
    const client = clientOf(service)
    expect(await failureOf(client.webhooks.get('w1', { signal: AbortSignal.abort(reason) }))).toBe(reason)
    expect(service.seen).toEqual([])
  })

  it.each<[string, (seen: Seen) => Reply, (seen: Seen) => Reply]>([
    ['the login', () => ({}), () => () => {}],
    ['the call', () => () => {}, () => ({ body: { accessToken: 'a' } })],
    ['the body', () => (response) => void response.writeHead(200).write('{'), () => ({ body: { accessToken: 'a' } })],
    ['a back-off', () => ({ status: 503, headers: { 'retry-after': '50' } }), () => ({ body: { accessToken: 'a' } })],
  ])('ends %s', async (_what, answer, login) => {
    const controller = new AbortController()
    const stopSoon = (reply: Reply): Reply => {
      if (typeof reply === 'function' || 'headers' in reply) setTimeout(() => controller.abort(reason), 20)
      return reply
    }
    service = await startService(
      (seen) => stopSoon(answer(seen)),
      (seen) => stopSoon(login(seen)),
    )
    const { now, monotonic } = performance_
    const clock = {
      now,
      monotonic,
      setTimeout,
      clearTimeout: (timer: unknown) => clearTimeout(timer as NodeJS.Timeout),
    } // what setTimeout gave
    const client = clientOf(service, { clock })
    expect(await failureOf(client.webhooks.get('w1', { signal: controller.signal }))).toBe(reason)
  })

  it.each(['signal', 'time limit'])(
    'or a time limit lets the process end though garbage was collected before it came: %s',
    { timeout: 30_000 },
    async (how) => {
      service = await startService(() => () => {})
      const child = fork(fileURLToPath(new URL('aborted-call.ts', import.meta.url)), {
        execArgv: ['--import', 'tsx', '--expose-gc'],
        env: { ...process.env, BASE_URL: service.url, HOW: how },
      })
      try {
        expect(await once(child, 'message')).toEqual(['given up', undefined])
        const ended = once(child, 'exit')
        expect(await Promise.race([ended, sleep(5_000, 'runs on')])).toEqual([0, null])
      } finally {
        child.kill('SIGKILL')
      }
    },
  )

  it("of one call doesn't end the login that others wait for", async () => {
    const controller = new AbortController()
    service = await startService(
      () => ({ body: WEBHOOK }),
      async () => {
        controller.abort(reason)
        return { body: { accessToken: 'a' } }
      },
    )
    const client = clientOf(service)
    const [one, other] = await Promise.allSettled([client.webhooks.get('w1', controller), client.webhooks.get('w1')])
    expect(one).toEqual({ status: 'rejected', reason })
    expect(other).toMatchObject({ status: 'fulfilled' })
    expect(service.logins).toBe(1)
  })

  it('ends a list between its pages', async () => {
    const controller = new AbortController()
    service = await startService((_, count) => ({ body: { data: [{ _id: `c${count}` }], next: `n${count}` } }))
    const contacts = clientOf(service).contacts(controller)
    const read = async () => {
      for await (const _ of contacts) controller.abort(reason)
    }
    expect(await failureOf(read())).toBe(reason)
    expect(service.calls).toHaveLength(1)
  })
})

const performance_ = { now: () => Date.now(), monotonic: () => performance.now() }

describe('the rate limit', () => {
  /** Takes `limit` requests in a window, and says so in one of the ways. */
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
  ])('is kept, so that no request is refused: 300 at 50 per 2 s, %s', async (_unit, toReset) => {
    const clock = new HastyClock()
    const limited = startLimited(50, 2_000, clock, (left, resetMs) => ({
      'x-ratelimit-remaining': String(left),
      'x-ratelimit-reset': toReset(resetMs, clock.now()),
    }))
    service = await startService(limited.answer)
    const client = clientOf(service, { clock })
    await collect(client.contacts())
    const work = Array.from({ length: 4 }, async () => {
      for (let n = 0; n < 75; n++) await collect(client.contacts())
    })
    await Promise.all(work)
    expect(limited.refused()).toBe(0)
    expect(service.calls).toHaveLength(301)
    // At each of the 6 windows a second may have been rounded away, and the Date header has no more than seconds either.
    expect(clock.monotonic()).toBeGreaterThanOrEqual(10_000)
    expect(clock.monotonic()).toBeLessThanOrEqual(24_000)
  })

  it('is learnt from a 429 where there are no other headers', async () => {
    const clock = new HastyClock()
    const limited = startLimited(5, 2_000, clock, () => ({}))
    service = await startService(limited.answer)
    const client = clientOf(service, { clock })
    for (let n = 0; n < 20; n++) await collect(client.contacts())
    expect(service.calls).toHaveLength(20 + limited.refused())
  })

  it('of the login is another than that of the calls', async () => {
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

import type { EmulatorOptions } from 'postern/emulator'
import { manualClock } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { ADA, call, start, until } from './support.ts'

const CONTACTS = 'GET /api/sales/contacts'
const LOGIN = 'POST /api/identity/auth/login'
const NOW = '2026-01-01T00:00:00.400Z'

async function scene(options: EmulatorOptions = {}) {
  const crm = await start({ port: false, clock: manualClock(NOW), ...options })
  const token = await crm.login()
  const ask = (line: string, given: Parameters<typeof call>[2] = { token }) => call(crm, line, given)
  const fault = (body: object) => call(crm, 'POST /_emulator/faults', { body })
  return { crm, token, ask, fault }
}

const rateOf = ({ headers }: { readonly headers: Headers }) =>
  ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'retry-after'].map((name) => headers.get(name))

describe('a call of the service', () => {
  it('needs a token, except the login', async () => {
    const { ask } = await scene()
    expect((await ask(CONTACTS)).status).toBe(200)
    expect((await ask(CONTACTS, {})).status).toBe(401)
    expect((await ask(CONTACTS, { token: 'x' })).json).toMatchObject({ message: 'the token is invalid' })
    expect((await ask(LOGIN, { body: ADA })).json).toMatchObject({ accessToken: expect.any(String), expiresIn: 3_600 })
    for (const wrong of [
      { ...ADA, password: 'x' },
      { ...ADA, email: 'gus@globex.test', password: 'x' },
    ])
      expect(await ask(LOGIN, { body: wrong })).toMatchObject({
        status: 401,
        json: { message: 'the e-mail address or the password is wrong' },
      })
    expect((await ask(LOGIN, { body: { email: 7, password: 'x' } })).status).toBe(422)
    expect((await ask('GET /api/identity/auth/login')).status).toBe(405)
  })

  it('is not cached, and has the time of the emulator and safe headers', async () => {
    const { ask, crm } = await scene()
    await crm.clock.advance('10m')
    for (const { headers } of [await ask(CONTACTS), await ask(CONTACTS, {})]) {
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('date')).toBe('Thu, 01 Jan 2026 00:10:00 GMT')
      expect(headers.get('x-content-type-options')).toBe('nosniff')
    }
  })
})

describe('the rate limit', () => {
  it('counts each token, and requests without one by their address', async () => {
    const { ask, crm } = await scene({ rateLimit: '2/60s', loginRateLimit: '1/60s', assume: { A26: 'seconds' } })
    const RESET = String(Date.parse('2026-01-01T00:01:01Z') / 1_000)
    expect(rateOf(await ask(CONTACTS))).toEqual(['2', '1', RESET, null])
    expect(rateOf(await ask(CONTACTS))).toEqual(['2', '0', RESET, null])
    const refused = await ask(CONTACTS)
    expect([refused.status, ...rateOf(refused)]).toEqual([429, '2', '0', RESET, '60'])
    expect(refused.json).toMatchObject({ message: 'too many requests; wait until the window ends' })
    expect(rateOf(await ask(CONTACTS, { token: await crm.login() }))).toEqual(['2', '1', RESET, null])
    expect(rateOf(await ask(CONTACTS, {}))).toEqual(['2', '1', RESET, null])
    expect(rateOf(await ask(CONTACTS, { token: 'x' }))).toEqual(['2', '0', RESET, null])
    expect((await ask(CONTACTS, {})).status).toBe(429)
    expect(rateOf(await ask(LOGIN, { body: ADA }))).toEqual(['1', '0', RESET, null])
    expect((await ask(LOGIN, { body: ADA })).status).toBe(429)
    await crm.clock.advance('59.9s')
    expect(rateOf(await ask(CONTACTS))).toEqual(['2', '0', RESET, '1'])
    await crm.clock.advance('100ms')
    expect((await ask(CONTACTS)).status).toBe(200)
  })

  it.each([
    ['token', ['8', '9', '9', '9']],
    ['account', ['8', '7', '9', '9']],
    ['address', ['8', '7', '6', '5']],
  ])('may count by %s (A23)', async (A23, remaining) => {
    const { ask, crm, token } = await scene({ rateLimit: '10/60s', assume: { A23 } as object })
    await ask(CONTACTS)
    const tokens = [token, await crm.login(), await crm.login({ accountKey: 'globex' }), undefined]
    const told = []
    for (const given of tokens) told.push(rateOf(await ask(CONTACTS, { token: given }))[1])
    expect(told).toEqual(remaining)
  })

  it.each([
    ['A24', 'seconds-left', 'x-ratelimit-reset', '46'],
    ['A24', 'epoch-milliseconds', 'x-ratelimit-reset', String(Date.parse('2026-01-01T00:01:00.400Z'))],
    ['A26', 'date', 'retry-after', 'Thu, 01 Jan 2026 00:01:00 GMT'],
    ['A26', 'absent', 'retry-after', null],
  ])('tells the end of its window as assumed: %s %s', async (id, form, header, told) => {
    const { ask, crm } = await scene({ rateLimit: '1/60s', assume: { [id]: form } })
    await ask(CONTACTS)
    await crm.clock.advance(14_500)
    expect((await ask(CONTACTS)).headers.get(header)).toBe(told)
  })

  it.each([
    ['all', ['1', '1', '1']],
    ['success', ['1', null, null]],
    ['none', [null, null, null]],
  ])('is told on %s answers (A25)', async (A25, limits) => {
    const { ask } = await scene({ rateLimit: '1/60s', assume: { A25, A26: 'seconds' } as object })
    const told = [await ask(CONTACTS), await ask(CONTACTS), await ask(CONTACTS, {})]
    expect(told.map(({ status }) => status)).toEqual([200, 429, 401])
    expect(told.map((answer) => rateOf(answer)[0])).toEqual(limits)
    expect(rateOf(told[1] ?? { headers: new Headers() })[3]).toBe('60')
  })
})

describe('a requested fault', () => {
  it('answers as often as requested, with or without a token', async () => {
    const { ask, fault } = await scene()
    const json = { message: 'refused by a fault of the emulator' }
    await fault({ answer: '401' })
    await fault({ answer: '429', count: 2 })
    expect(await ask(CONTACTS)).toMatchObject({ status: 401, json })
    for (const given of [undefined, {}]) expect(await ask(CONTACTS, given)).toMatchObject({ status: 429, json })
    expect((await ask(CONTACTS)).status).toBe(200)
  })

  it('is not spent on a call that the rate limit refuses, nor on the control interface', async () => {
    const { ask, crm, fault } = await scene({ rateLimit: '1/60s' })
    await ask(CONTACTS)
    await fault({ answer: '500' })
    expect([(await ask(CONTACTS)).status, (await ask('GET /_emulator/ready')).status]).toEqual([429, 200])
    await crm.clock.advance('60s')
    expect([(await ask(CONTACTS)).status, (await ask(CONTACTS)).status]).toEqual([500, 429])
  })

  it('delays an answer by the clock of the emulator', async () => {
    const clock = manualClock(NOW)
    const { ask, crm, fault } = await scene({ clock })
    await fault({ answer: 'slow', delayMs: 3_000 })
    let status = 0
    const slow = ask(CONTACTS).then((answer) => {
      status = answer.status
    })
    await until(() => clock.pending === 1)
    await crm.clock.advance(2_999)
    expect(status).toBe(0)
    await crm.clock.advance(1)
    await slow
    expect(status).toBe(200)
  })

  it.each([
    ['without one', false, /ConnectionCut|cut/],
    ['over HTTP', 0, /^fetch failed$/],
  ] as const)('cuts the connection, which is an error to a caller %s', async (_how, port, told) => {
    const { ask, fault } = await scene({ port })
    await fault({ answer: 'reset' })
    await expect(ask(CONTACTS)).rejects.toThrow(told)
    expect((await ask(CONTACTS)).status).toBe(200)
  })
})

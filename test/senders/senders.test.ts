import { createHmac, createSecretKey } from 'node:crypto'
import { connect } from 'node:net'
import { ConfigurationError, type Outcome, receiveFrom } from 'postern'
import { github, type Sender, shopify, standardWebhooks } from 'postern/senders'
import { manualClock, silentLogger } from 'postern/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { hosts } from '../adapters/http/hosts.ts'
import { type Vendor, vendors } from './vendors.ts'

type Headers = Readonly<Record<string, string>>
type Options = Partial<Parameters<typeof receiveFrom>[1]>

const MINUTE = 60_000
const timed = vendors.filter(({ sender }) => sender.toleranceMs !== undefined)
const unsignedNames = vendors.filter(({ sender }) => sender.unsigned.length > 0)

function make(vendor: Pick<Vendor, 'sender' | 'secret'>, options: Options = {}) {
  const outcomes: Outcome[] = []
  const ids: string[] = []
  const receiver = receiveFrom(vendor.sender, {
    secret: vendor.secret,
    logger: silentLogger,
    onOutcome: (outcome) => void outcomes.push(outcome),
    ...options,
  })
  receiver.on('*', (event) => void ids.push(event.id))
  return { receiver, outcomes, ids }
}

const idOf = (vendor: Vendor) => (vendor.name === 'Shopify' ? 'e1' : vendor.event.id)
const signedBy = (vendor: Vendor, { secret = vendor.secret, at = Date.now(), id = idOf(vendor) } = {}) =>
  vendor.sign(vendor.body, secret, { id, at })

/** Returns what a receiver answers to bytes in hand: the code of a refusal, or the outcome. */
async function answer(vendor: Vendor, headers: Headers | globalThis.Headers, options?: Options, body = vendor.body) {
  const outcome = await make(vendor, options).receiver.receive({ body: Buffer.from(body), headers })
  return 'code' in outcome ? outcome.code : outcome.outcome
}

async function start(vendor: Vendor, host = hosts[1]) {
  const made = make(vendor)
  const running = await host?.start(made.receiver)
  onTestFinished(async () => void (await running?.close()))
  const url = `http://127.0.0.1:${running?.port}/webhooks`
  const post = async (headers: Headers, body = vendor.body) => {
    const all = { 'content-type': 'application/json', ...headers }
    const response = await fetch(url, { method: 'POST', headers: all, body })
    return [response.status, await response.json()]
  }
  return { ...made, post, port: running?.port ?? 0 }
}

describe.each(vendors)('$name', (vendor) => {
  const [signature = '', ...named] = vendor.sender.headers
  const { id, type, accountKey } = vendor.event

  it.each(hosts)('is received as its vendor signs, once, behind $name', async (host) => {
    const { post, outcomes, ids } = await start(vendor, host)
    const headers = await signedBy(vendor)
    expect(await post(headers, vendor.body.replace(/:/, ': '))).toEqual([401, { code: 'unauthorized' }])
    expect(await post(headers)).toEqual([200, { code: 'handled', id }])
    expect(await post(await signedBy(vendor))).toEqual([200, { code: 'duplicate', id }])
    expect(ids).toEqual([id])
    expect(outcomes.at(-1)).toMatchObject({ outcome: 'duplicate', id, type, accountKey })
  })

  it('reaches its handlers with the whole body as data, and the signed text', async () => {
    const receiver = receiveFrom(vendor.sender, { secret: vendor.secret, logger: silentLogger })
    const seen: unknown[] = []
    receiver.on(type, { name: 'one' }, ({ data, ...names }, { rawBody }) => void seen.push({ names, data, rawBody }))
    receiver.on('*', { name: 'two' }, ({ data, ...names }, { rawBody }) => void seen.push({ names, data, rawBody }))
    await receiver.receive({ body: Buffer.from(vendor.body), headers: await signedBy(vendor) })
    const expected = {
      names: { ...vendor.event, timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) },
      data: JSON.parse(vendor.body),
      rawBody: vendor.body,
    }
    expect(seen).toEqual([expected, expected])
  })

  it('is signed by us as its vendor verifies', async () => {
    const { sender, secret, body } = vendor
    const key = createSecretKey(sender.toKey?.(secret) ?? Buffer.from(secret))
    const headers = sender.sign(Buffer.from(body), key, { ...vendor.event, id: idOf(vendor), at: Date.now() })
    expect(await vendor.judge(body, secret, headers)).toBe(true)
    expect(await vendor.judge(`${body} `, secret, headers)).toBe(false)
    expect(await answer(vendor, headers)).toBe('handled')
  })

  it('is verified by each of several secrets, and by no other', async () => {
    const both = [vendor.secret, vendor.otherSecret]
    const headers = await signedBy(vendor)
    expect(await answer(vendor, headers, { secret: both })).toBe('handled')
    expect(await answer(vendor, headers, { secret: both.toReversed() })).toBe('handled')
    expect(await answer(vendor, headers, { secret: vendor.otherSecret })).toBe('signature_mismatch')
  })

  it.each([
    ['is missing', () => undefined, 'signature_missing'],
    ['is empty', () => '', 'signature_malformed'],
    ['is cut', (value: string) => value.slice(0, -1), 'signature_malformed'],
    ['occurs twice', (value: string) => [value, value], 'signature_malformed'],
    ['is joined with itself', (value: string) => `${value}, ${value}`, 'signature_malformed'],
  ] as const)('is refused if its signature %s', async (_how, change, code) => {
    const headers = await signedBy(vendor)
    const { receiver } = make(vendor)
    const changed = { ...headers, [signature]: change(headers[signature] ?? '') }
    expect(await receiver.receive({ body: Buffer.from(vendor.body), headers: changed })).toMatchObject({ code })
  })

  it.each(named)('is refused without %s, or with two', async (name) => {
    const headers = await signedBy(vendor)
    const { [name]: value = '', ...rest } = headers
    expect(await answer(vendor, rest)).toBe('signature_missing')
    expect(await answer(vendor, { ...headers, [name]: `${value}, ${value}` })).toBe('signature_malformed')
    const twice = new Headers(headers)
    twice.append(name, value)
    expect(await answer(vendor, twice)).toBe('signature_malformed')
  })

  it('is refused before its body is read if the head has no signature', async () => {
    const { port, outcomes } = await start(vendor)
    const socket = connect(port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    socket.write(
      'POST /webhooks HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 500000\r\n\r\n{',
    )
    const [line] = await new Promise<readonly string[]>((resolve) =>
      socket.on('data', (bytes) => resolve(String(bytes).split('\r\n'))),
    )
    expect(line).toBe('HTTP/1.1 401 Unauthorized')
    expect(outcomes).toMatchObject([{ code: 'signature_missing' }])
  })

  it('runs for one tenant only if the secret is bound to it', async () => {
    const headers = await signedBy(vendor)
    const bind = (to: string) => ({ secret: { secret: vendor.secret, accountKey: to } })
    expect(await answer(vendor, headers, bind(accountKey))).toBe('handled')
    expect(await answer(vendor, headers, bind('someone else'))).toBe('account_mismatch')
  })
})

describe.each(timed)('the signed time of $name', (vendor) => {
  it.each([
    ['6 min ago', -6 * MINUTE, 'signature_expired'],
    ['in 6 min', 6 * MINUTE, 'signature_expired'],
    ['4 min ago', -4 * MINUTE, 'handled'],
    ['in 4 min', 4 * MINUTE, 'handled'],
  ])('%s is judged by the time of receipt', async (_when, offset, code) => {
    const clock = manualClock()
    const receivedAt = clock.now() - 1_800_000 // a time more than an hour ago is not taken
    const headers = await signedBy(vendor, { at: receivedAt + offset })
    const outcome = await make(vendor, { clock }).receiver.receive({
      body: Buffer.from(vendor.body),
      headers,
      receivedAt,
    })
    expect('code' in outcome ? outcome.code : outcome.outcome).toBe(code)
    if (!('reason' in outcome)) return
    const signedAt = new Date(Math.floor((receivedAt + offset) / 1_000) * 1_000)
    for (const time of [signedAt, new Date(receivedAt)]) expect(outcome.reason).toContain(time.toISOString())
  })
})

describe.each(unsignedNames)('a replay of $name under another id', (vendor) => {
  const make2 = (once?: 'id' | 'body') =>
    make({ ...vendor, sender: vendor.name === 'GitHub' ? github({ once }) : shopify({ once }) })

  it.each([
    [undefined, 2],
    ['id', 2],
    ['body', 1],
  ] as const)('with once: %j runs %i times', async (once, times) => {
    const { receiver, ids } = make2(once)
    for (const id of ['one', 'two'])
      await receiver.receive({ body: Buffer.from(vendor.body), headers: await signedBy(vendor, { id }) })
    expect(ids).toHaveLength(times)
  })
})

it('Shopify sends one event to each named subscription of a topic, and all of them are handled', async () => {
  const vendor = vendors.find(({ name }) => name === 'Shopify') as Vendor
  const { receiver, ids } = make(vendor)
  for (const name of ['prices', 'stock', 'prices'])
    await receiver.receive({
      body: Buffer.from(vendor.body),
      headers: { ...(await signedBy(vendor)), 'x-shopify-name': name },
    })
  expect(ids).toHaveLength(2)
})

describe('several digests', () => {
  const [standard, billing] = [vendors[2], vendors[1]] as [Vendor, Vendor]
  const bad = Buffer.alloc(32).toString('base64')

  it.each([
    ['the good one first', (good: string) => `${good} v1,${bad}`, 'handled'],
    ['the good one last of 8', (good: string) => `${`v1,${bad} `.repeat(7)}${good}`, 'handled'],
    ['nine', (good: string) => `${`v1,${bad} `.repeat(8)}${good}`, 'signature_malformed'],
    ['v1a beside v1', (good: string) => `v1a,AAAA ${good}`, 'handled'],
    ['v1a alone', () => `v1a,${bad}`, 'signature_malformed'],
    ['v1 without a digest', (good: string) => `v1 ${good}`, 'handled'],
    ['no version', () => bad, 'signature_malformed'],
    [
      'another last character of the same bytes',
      (good: string) => good.replace(/.=$/, (end) => `${String.fromCharCode(end.charCodeAt(0) + 1)}=`),
      'signature_malformed',
    ],
    ['two blanks', (good: string) => `${good}  ${good}`, 'handled'],
  ])('of Standard Webhooks: %s', async (_which, change, code) => {
    const headers = await signedBy(standard)
    expect(
      await answer(standard, { ...headers, 'webhook-signature': change(headers['webhook-signature'] ?? '') }),
    ).toBe(code)
  })

  it('of Standard Webhooks: an id with a dot could move the border to the time', async () => {
    expect(await answer(standard, await signedBy(standard, { id: 'msg.1' }))).toBe('signature_malformed')
  })

  it.each([
    ['the good one last', (t: string, v1: string) => `${t},v1=${'0'.repeat(64)},${v1}`, 'handled'],
    ['v0 beside v1', (t: string, v1: string) => `${t},v0=00,${v1}`, 'handled'],
    ['the time last', (t: string, v1: string) => `${v1},${t}`, 'handled'],
    ['two times', (t: string, v1: string) => `${t},${t},${v1}`, 'signature_malformed'],
    ['a hexadecimal time', (_t: string, v1: string) => `t=0x6925,${v1}`, 'signature_malformed'],
    ['a time with a sign', (t: string, v1: string) => `${t.replace('=', '=+')},${v1}`, 'signature_malformed'],
    ['no time', (_t: string, v1: string) => v1, 'signature_malformed'],
    ['v0 alone', (t: string) => `${t},v0=${'0'.repeat(64)}`, 'signature_malformed'],
    ['a scheme to come', (t: string, v1: string) => `${t},v2=00,kid=1,${v1}`, 'handled'],
    ['a malformed digest beside the good one', (t: string, v1: string) => `${t},${v1},v1=potato`, 'handled'],
  ])('of Stripe: %s', async (_which, change, code) => {
    const [t = '', v1 = ''] = (await signedBy(billing))['stripe-signature']?.split(',') ?? []
    expect(await answer(billing, { 'stripe-signature': change(t, v1) })).toBe(code)
  })

  it.each([
    [{ account: 'acct_1', context: 'org_1/acct_2' }, 'acct_1'],
    [{ account: null, context: 'acct_2' }, 'acct_2'],
    [{ context: null }, 'stripe'],
  ])('of Stripe: takes %o for the account %s', (fields, accountKey) => {
    const facts = { signedAt: undefined, receivedAt: 0, digest: () => '' }
    expect(billing.sender.nameEvent({ id: 'evt_1', type: 'invoice.paid', ...fields }, {}, facts)).toMatchObject({
      accountKey,
    })
  })
})

describe('bodies', () => {
  const [hub] = vendors as [Vendor]
  const send = async (body: string | Uint8Array, type = 'issues') => {
    const digest = createHmac('sha256', hub.secret).update(body).digest('hex')
    const headers = { 'x-hub-signature-256': `sha256=${digest}`, 'x-github-event': type, 'x-github-delivery': 'd1' }
    return make(hub).receiver.receive({ body: Buffer.from(body), headers })
  }

  it.each([
    ['payload=%7B%7D', 'invalid_json', 'application/json'],
    [Uint8Array.of(0x7b, 0x7d, 0xff), 'invalid_utf8', 'UTF-8'],
    ['[1]', 'invalid_envelope', 'no event of GitHub'],
    ['null', 'invalid_envelope', 'not an object'],
  ])('that are signed but no event, %j, are refused with the fix', async (body, code, fix) => {
    expect(await send(body)).toMatchObject({ code, status: 400, reason: expect.stringContaining(fix) })
  })

  it('may hold what an envelope holds', async () => {
    const { receiver, ids } = make(hub)
    const body = Buffer.from('{"id":"a","data":{"x":1},"accountKey":",\\"data\\":","__proto__":{"y":1}}')
    const headers = { ...(await hub.sign(String(body), hub.secret, { id: 'd1', at: 0 })) }
    const seen: unknown[] = []
    receiver.on('*', { name: 'two' }, (event, { rawBody }) => void seen.push(event.data, rawBody))
    expect(await receiver.receive({ body, headers })).toMatchObject({
      outcome: 'handled',
      id: 'd1',
      accountKey: 'github',
    })
    expect(seen).toEqual([JSON.parse(String(body)), String(body)])
    expect(ids).toEqual(['d1'])
  })

  it('of GitHub may have 25 MiB, unless the app says less', async () => {
    const body = JSON.stringify({ text: 'x'.repeat(2_000_000) })
    expect(await send(body)).toMatchObject({ outcome: 'handled' })
    expect(await answer(hub, {}, { maxBodyBytes: 1_000 }, body)).toBe('body_too_large')
  })
})

describe('a secret', () => {
  const refused = (name: string, secret: unknown) => {
    try {
      receiveFrom((vendors.find((vendor) => vendor.name === name) as Vendor).sender, {
        secret: secret as string,
        logger: silentLogger,
      })
    } catch (error) {
      return error instanceof ConfigurationError ? `${error.code}: ${error.message}` : error
    }
    return undefined
  }
  const key = Buffer.alloc(24, 1).toString('base64')

  it.each([
    ['Standard Webhooks', `whsec_${key}`],
    ['Standard Webhooks', key],
    ['Standard Webhooks', `v1,whsec_${key}`],
    ['Standard Webhooks', Buffer.from('raw')],
    ['Stripe', 'whsec_5f1d3a'],
    ['GitHub', 'any text'],
    ['Shopify', 'shpss_1234567890'],
  ])('of %s may be %j', (sender, secret) => expect(refused(sender, secret)).toBeUndefined())

  it.each([
    ['Standard Webhooks', 'whsec_xyz!', 'API key'],
    ['Standard Webhooks', `${key}!!`, 'API key'],
    ['Standard Webhooks', 'whsec_AAAA', 'too short'],
    ['Standard Webhooks', 'whsec_', 'too short'],
    ['Standard Webhooks', 're_123456789abcdefghi', 'API key'],
    ['Standard Webhooks', '"quoted"', 'in quotes'],
    ['Stripe', 'sk_live_51abc', 'whsec_'],
    ['Stripe', 'rk_test_51abc', 'whsec_'],
    ['Stripe', undefined, 'Stripe'],
    ['GitHub', 'ghp_abcdef', 'access token'],
    ['GitHub', 'github_pat_11A', 'access token'],
    ['Shopify', 'shpat_abcdef', 'client secret'],
    ['GitHub', [], 'GitHub'],
  ])('of %s is refused with the fix: %j', (sender, secret, fix) => {
    expect(refused(sender, secret)).toMatch(/^secret_unusable: /)
    expect(refused(sender, secret)).toContain(fix)
  })

  it('may come from a function, by the source of the route', async () => {
    const vendor = vendors[1] as Vendor
    const { secret } = vendor
    const options: Options = {
      secret: ({ source }) => (source === 'acct_1' ? { secret, accountKey: source } : undefined),
    }
    const { receiver } = make(vendor, options)
    const delivery = { body: Buffer.from(vendor.body), headers: await signedBy(vendor) }
    expect(await receiver.receive({ ...delivery, source: 'acct_1' })).toMatchObject({ outcome: 'handled' })
    expect(await receiver.receive({ ...delivery, source: 'acct_2' })).toMatchObject({ code: 'unknown_source' })
  })
})

// Published by the specification of Standard Webhooks, and by GitHub's page on validating deliveries.
it.each<[string, Sender, string, string, Headers, number | undefined, string]>([
  [
    'Standard Webhooks',
    standardWebhooks({ type: () => 'test' }),
    'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    '{"test": 2432232314}',
    {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    },
    1_614_265_330_000,
    'handled',
  ],
  [
    'GitHub, whose example is no JSON',
    github(),
    "It's a Secret to Everybody",
    'Hello, World!',
    {
      'x-hub-signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
      'x-github-event': 'ping',
      'x-github-delivery': 'd1',
    },
    undefined,
    'invalid_json',
  ],
])('the published example of %s is verified', async (_name, sender, secret, body, headers, time, expected) => {
  const clock = manualClock(time)
  const receiver = receiveFrom(sender, { secret, clock, logger: silentLogger }).on('*', () => {})
  const outcome = await receiver.receive({ body: Buffer.from(body), headers })
  expect('code' in outcome ? outcome.code : outcome.outcome).toBe(expected)
})

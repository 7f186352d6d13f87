import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { memoryStore, type OpenData, type Outcome, type PosternError, receiveFrom, record } from 'postern'
import { type EventNames, github, hexDigest, type Sender, shopify, standardWebhooks, stripe } from 'postern/senders'
import { signed, silentLogger } from 'postern/testing'
import { describe, expect, it, vi } from 'vitest'
import * as z from 'zod'
import { failure, type Line, linesInto } from '../receiver/support.ts'

const SECRET = 'a secret of an own sender'
const BODY = JSON.stringify({ id: 'e1', type: 'order.paid', account: 'acme', paid: 1 })

const own: Sender = {
  name: 'Own',
  headers: ['x-own-signature'],
  unsigned: [],
  waitsMs: 10_000,
  attempts: 5,
  duplicatesForMs: 3_600_000,
  readHead(headers) {
    const digest = hexDigest(headers['x-own-signature'])
    return digest && { digests: [digest] }
  },
  nameEvent: ({ id, type, account }) => ({
    id: String(id),
    type: String(type),
    accountKey: String(account),
    timestamp: '2026-11-28T00:00:00Z',
  }),
  sign: (body, key) => ({ 'x-own-signature': createHmac('sha256', key).update(body).digest('hex') }),
}
const headers = { 'x-own-signature': createHmac('sha256', SECRET).update(BODY).digest('hex') }

/** Sends the body to a receiver of a sender that is put together from parts, which may be wrong. */
async function send(parts: object, options: object = {}, sent: unknown = headers) {
  const errors: PosternError[] = []
  const receiver = receiveFrom({ ...own, ...parts } as Sender, {
    secret: SECRET,
    logger: silentLogger,
    onError: (error) => void errors.push(error),
    ...options,
  })
  receiver.on('*', () => {})
  const outcome: Outcome = await receiver.receive({ body: Buffer.from(BODY), headers: sent as Headers })
  return { outcome, errors }
}

const refusal = (make: () => unknown) => failure(make).message

describe('an own sender', () => {
  it('may be the instance of a class, and wait for a second only', async () => {
    const instance: Sender = Object.create({ ...own, waitsMs: 1_000, attempts: 2, duplicatesForMs: 0 })
    const receiver = receiveFrom(instance, { secret: SECRET, logger: silentLogger }).on('order.*', () => {})
    const event = { outcome: 'handled', id: 'e1', accountKey: 'acme' }
    expect(await receiver.receive({ body: Buffer.from(BODY), headers })).toMatchObject(event)
  })

  it.each([
    ['throws', () => Object(undefined).a.b],
    ['returns a promise', async () => Promise.reject(new Error('late'))],
    ['returns text as digests', () => ({ digests: ['x'.repeat(32)] })],
    ['returns a digest of another length', () => ({ digests: [new Uint8Array(20)] })],
    ['returns no digests', () => ({})],
    ['signs a number', () => ({ digests: [new Uint8Array(32)], before: { toString: () => 1 } })],
    ['returns a time that nothing judges', () => ({ digests: [new Uint8Array(32)], signedAt: Date.now() })],
  ])('is refused unread if its readHead %s', async (_how, readHead) => {
    const spy = vi.fn(readHead)
    expect((await send({ readHead: spy })).outcome).toMatchObject({ code: 'signature_malformed', status: 401 })
    expect(spy).toHaveBeenCalledOnce()
  })

  const bytes = Buffer.from(headers['x-own-signature'], 'hex')
  const inSeconds = Math.floor(Date.now() / 1_000)
  const { readHead, nameEvent } = own
  /** A sender that makes names of other fields than there are. */
  const named = (fields: Readonly<Record<string, string>>) => ({
    nameEvent(body: object) {
      const read = (name: string) => Reflect.get({ ...body, owner: {}, at: null }, name)
      const toText = (name: string) => (name === 'kind' ? `${read(name)}.${read(name)}` : String(read(name)))
      const names = Object.entries(fields).map(([name, field]) => [name, toText(field)])
      return { ...nameEvent(body as never, {}, {} as never), ...Object.fromEntries(names) }
    },
  })
  it.each<[string, object, RegExp]>([
    ['no digests', { readHead: () => ({}) }, /readHead\(\) of Own returned no list of digests\. A sender returns/],
    ['one digest, not a list', { readHead: () => ({ digests: bytes }) }, /returned no list of digests/],
    ['an empty list', { readHead: () => ({ digests: [] }) }, /found no digest/],
    ['hexadecimal text', { readHead: () => ({ digests: [headers['x-own-signature']] }) }, /returned text as a digest/],
    ['bytes of text', { readHead: () => ({ digests: [Buffer.alloc(64)] }) }, /a digest of 64 bytes.*hexDigest\(\)/],
    [
      'a header in upper case',
      { readHead: (given: Headers) => readHead({ 'x-own-signature': Reflect.get(given, 'X-Own-Signature') }) },
      /reads the header "X-Own-Signature", .*in lower case, headers\['x-own-signature'\]/,
    ],
    [
      'a header in upper case that it needs',
      { readHead: (given: Headers) => Reflect.get(given, 'X-Own-Signature').slice(1) },
      /in lower case/,
    ],
    [
      'a header in upper case, in a list',
      { readHead: (given: Headers) => ({ digests: [hexDigest(Reflect.get(given, 'X-Own-Signature'))] }) },
      /in lower case/,
    ],
    ['another header', { readHead: (given: Headers) => Reflect.get(given, 'x-own-time') }, /name it in the headers or/],
    ['seconds', { signedAt: inSeconds }, /as signedAt, which are seconds\. Return milliseconds since 1970/],
    ['microseconds', { signedAt: inSeconds * 1e6 }, /which are microseconds/],
    ['no time', { signedAt: Number.NaN }, /returned NaN as signedAt, which is no time/],
    ['a time as text', { signedAt: '2026-11-28T00:00:00Z' }, /returned "2026.*" as signedAt, which is no time/],
    [
      'an id of a header in upper case',
      {
        nameEvent: (_body: object, given: Headers) => ({
          ...nameEvent({}, {}, {} as never),
          id: Reflect.get(given, 'X-Id'),
        }),
      },
      /returned undefined as id\. nameEvent\(\) reads the header "X-Id"/,
    ],
    [
      'an id of a field that is missing',
      named({ id: 'event_id' }),
      /returned "undefined" as id: a field that it reads/,
    ],
    ['a type of two such fields', named({ type: 'kind' }), /returned "undefined.undefined" as type/],
    ['an account that is an object', named({ accountKey: 'owner' }), /returned "\[object Object\]" as accountKey/],
    ['a time that is null', named({ timestamp: 'at' }), /returned "null" as timestamp/],
    [
      'the text of a function',
      {
        nameEvent: (body: object, _: object, { digest }: object & { digest?: unknown }) => ({
          ...nameEvent(body as never, {}, {} as never),
          id: `sha256:${digest}`,
        }),
      },
      /as id: a field that it reads is missing/,
    ],
    [
      'an id of a header that it does not get',
      {
        nameEvent: (body: object, given: Headers) => ({
          ...nameEvent(body as never, {}, {} as never),
          id: `own:${Reflect.get(given, 'x-id')}`,
        }),
      },
      /as id: .* nameEvent\(\) reads the header "x-id", which it does not get/,
    ],
    [
      'text of a header that it does not get',
      { readHead: (given: Headers) => ({ digests: [bytes], before: `${Reflect.get(given, 'x-time')}.` }) },
      /readHead\(\) of Own reads the header "x-time", which it does not get/,
    ],
    ['no time, though it has a tolerance', { toleranceMs: 5_000 }, /returned no signedAt, .* one needs the other/],
  ])('is named to its owner if it returns %s', async (_what, parts, told) => {
    const lines: Line[] = []
    const signedHead = 'signedAt' in parts && { toleranceMs: 5_000, readHead: () => ({ digests: [bytes], ...parts }) }
    const { signedAt: _, ...methods } = { signedAt: 0, ...parts }
    await send({ ...methods, ...signedHead }, { logger: linesInto(lines) })
    expect(lines.map(({ message }) => message)).toEqual([expect.stringMatching(told)])
  })

  it.each([
    ['throws', () => Object(undefined).a.b],
    ['returns a promise', async () => Promise.reject(new Error('late'))],
    ['names an account by a promise', () => ({ ...own.nameEvent({}, {}, {} as never), accountKey: Promise.reject(1) })],
    ['names an id by a number', () => ({ ...own.nameEvent({}, {}, {} as never), id: 7 })],
  ])('is repeated, and its owner told, if its nameEvent %s', async (_how, nameEvent) => {
    const { outcome, errors } = await send({ nameEvent })
    expect(outcome).toMatchObject({ outcome: 'failed', status: 503, code: 'unexpected' })
    expect(errors.map(({ code }) => code)).toEqual(['unexpected'])
  })

  it('takes names that the body has, whatever they are', async () => {
    const body = JSON.stringify({ id: 'undefined', type: 'field.null', account: '[object Object]', gone: null })
    const sender = {
      ...own,
      nameEvent: (parsed: OpenData) => ({ ...(nameEvent(parsed, {}, {} as never) as EventNames), timestamp: '' }),
    }
    const receiver = receiveFrom(sender, { secret: SECRET, logger: silentLogger }).on('*', () => {})
    const outcome = await receiver.receive(signed(body, { sender, secret: SECRET }))
    expect(outcome).toMatchObject({ outcome: 'handled', id: 'undefined', accountKey: '[object Object]' })
  })

  it.each([
    [() => ({}), 'signature_missing'],
    [async () => Promise.reject(new Error('not awaited')), 'body_consumed'],
    [() => ['x-own-signature', headers['x-own-signature']], 'body_consumed'],
    [() => null, 'body_consumed'],
  ])('is not blamed for headers of the app: %o', async (toSent, code) => {
    const { outcome } = await send({}, {}, toSent())
    expect(outcome).toMatchObject({ code })
  })

  it.each([
    [{ name: '' }, 'name'],
    [{ headers: [] }, 'a header'],
    [{ headers: ['X-Own-Signature'] }, 'lower case'],
    [{ headers: ['authorization'] }, 'a header'],
    [{ optionalHeaders: 'x-a' }, 'optionalHeaders'],
    [{ unsigned: undefined }, 'unsigned'],
    [{ toKey: () => 'text' }, 'toKey'],
    [{ toKey: async () => Promise.reject(new Error('late')) }, 'toKey'],
    [{ toleranceMs: Number.POSITIVE_INFINITY }, 'toleranceMs'],
    [{ tolerance: 5 }, 'toleranceMs'],
    [{ waitsMs: 0 }, 'waitsMs'],
    [{ attempts: 1.5 }, 'attempts'],
    [{ duplicatesForMs: '3 d' }, 'duplicatesForMs'],
    [{ duplicatesForMs: 72 }, 'since it is in milliseconds'],
  ])('is refused when its receiver is made: %o', (parts, text) => {
    const make = () => receiveFrom({ ...own, ...parts } as Sender, { secret: SECRET, logger: silentLogger })
    expect(make).toThrow(text)
  })

  it.each([
    [{ maxAge: 10_800_000 }, 'the CRM service'],
    [{ signatureHeader: 'X-A' }, 'the CRM service'],
    [{ store: memoryStore({ retentionMs: 10_800_000 }) }, 'at least 259200000 (72 h)'],
    [{ deadlineMs: 9_600 }, '9500'],
  ])('refuses options that do not fit: %o', (options, text) => {
    expect(refusal(() => receiveFrom(github(), { secret: SECRET, logger: silentLogger, ...options }))).toContain(text)
  })

  it.each([
    ['a handler that fails', {}, () => Promise.reject(new Error('no')), 'failed'],
    ['a schema that refuses', { events: { 'order.paid': z.object({ unpaid: z.string() }) } }, () => {}, 'rejected'],
  ])('is asked by 503 to repeat after %s', async (_what, options, handler, outcome) => {
    const receiver = receiveFrom(own, { secret: SECRET, logger: silentLogger, ...options }).on('order.paid', handler)
    expect(await receiver.receive({ body: Buffer.from(BODY), headers })).toMatchObject({ outcome, status: 503 })
  })
})

describe('profiles', () => {
  it('keep their receivers apart on one store', () => {
    const store = memoryStore()
    const make = (sender: Sender, secret: string) => receiveFrom(sender, { secret, store, logger: silentLogger })
    for (const sender of [github(), shopify()]) make(sender, SECRET)
    expect(refusal(() => make(github(), SECRET))).toContain('A receiver named "github" uses this store already')
  })

  it('name types and tenants as the app says', async () => {
    const secret = `whsec_${Buffer.alloc(24, 1).toString('base64')}`
    const options = { type: () => 'send_email', account: () => 'acme' }
    const sender = standardWebhooks(options)
    const receiver = receiveFrom(sender, { secret, logger: silentLogger, events: { send_email: record<object>() } })
    receiver.on('send_email', () => {})
    const key = Buffer.alloc(24, 1)
    const body = Buffer.from('{"user":{}}')
    const time = Math.floor(Date.now() / 1_000)
    const digest = createHmac('sha256', key).update(`msg_1.${time}.`).update(body).digest('base64')
    const signed = { 'webhook-id': 'msg_1', 'webhook-timestamp': String(time), 'webhook-signature': `v1,${digest}` }
    expect(await receiver.receive({ body, headers: signed })).toMatchObject({ type: 'send_email', accountKey: 'acme' })
  })

  it('of GitHub may name the repository, so that its secret can be bound to it', async () => {
    const sender = github({ account: (body) => String(Object(body.repository).full_name) })
    const bound = { secret: SECRET, accountKey: 'a/b' }
    const receiver = receiveFrom(sender, { secret: bound, logger: silentLogger }).on('push', () => {})
    const send = async (repository: string) => {
      const body = JSON.stringify({ organization: { id: 5 }, repository: { full_name: repository } })
      const signature = `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`
      const named = { 'x-hub-signature-256': signature, 'x-github-event': 'push', 'x-github-delivery': repository }
      return receiver.receive({ body: Buffer.from(body), headers: named })
    }
    expect(await send('a/b')).toMatchObject({ outcome: 'handled' })
    expect(await send('a/c')).toMatchObject({ code: 'account_mismatch' })
  })

  it.each<[string, Sender, readonly [string, string][]]>([
    [
      'GitHub',
      github(),
      [
        ['issues', 'issues.*'],
        ['issue.opened', 'issues.opened'],
        ['Issues.Opened', 'issues.opened'],
        ['issues/opened', 'issues.opened'],
        ['pullRequest/*', 'pull_request.*'],
        ['push.created', 'push'],
        ['pull_request.open', 'pull_request.opened'],
        ['"push"', 'push'],
        ['issues\u200b.opened', 'issues.opened'],
        ['pull_request.merged', 'pull_request.closed'],
        ['deployment_status', 'deployment_status.*'],
      ],
    ],
    [
      'Stripe',
      stripe(),
      [
        ['invoice/paid', 'invoice.paid'],
        ['paymentIntent:succeeded', 'payment_intent.succeeded'],
        ['charge', 'charge.*'],
        ['checkout_session_completed', 'checkout.session.completed'],
        ['customer.subscription.cancelled', 'customer.subscription.deleted'],
        ['invoice.payed', 'invoice.paid'],
      ],
    ],
    [
      'Shopify',
      shopify(),
      [
        ['orders.create', 'orders/create'],
        ['ORDERS_CREATE', 'orders/create'],
        ['orders', 'orders/*'],
        ['order/create', 'orders/create'],
        ['/orders/create', 'orders/create'],
        ['draft orders create', 'draft_orders/create'],
        ['orders/created', 'orders/create'],
        ['CUSTOMERS_DATA_REQUEST', 'customers/data_request'],
        ['APP_SCOPES_UPDATE', 'app/scopes_update'],
        ['APP_UNINSTALLED', 'app/uninstalled'],
        ['app/uninstall', 'app/uninstalled'],
        ['products/updated', 'products/update'],
        ['orders/update', 'orders/updated'],
        ['customers/datarequest', 'customers/data_request'],
        ['CUSTOMERS_EMAIL_CONSENT_UPDATE', 'customers_email_consent/update'],
        ['APP_PURCHASES_ONE_TIME_UPDATE', 'app_purchases_one_time/update'],
        ['CUSTOMER_TAGS_ADDED', 'customer.tags_added'],
      ],
    ],
    [
      'Standard Webhooks',
      standardWebhooks(),
      [
        ['user.created ', 'user.created'],
        ['Order_Made', 'order.made'],
      ],
    ],
  ])('of %s refuse a type in a spelling that it never has', (_name, sender, spellings) => {
    const secret = `whsec_${Buffer.alloc(24, 1).toString('base64')}`
    const make = (events = {}) => receiveFrom(sender, { secret, events, logger: silentLogger })
    const declared = sender.spellType === undefined ? { 'order.made': record() } : {}
    for (const [type, right] of spellings)
      expect(refusal(() => make(declared).on(type, () => {}))).toContain(`Did you mean '${right}'?`)
    expect(refusal(() => make({ ' order/made': record() }))).toContain(
      `is no event type of ${sender.name}. Did you mean "`,
    )
    expect(refusal(() => make().on('a.made,b.made', () => {}))).toContain('as a list')
  })

  it('warn of a type that resembles a declared one', () => {
    const lines: Line[] = []
    const events = { 'user.created': record() }
    const receiver = receiveFrom(own, { secret: SECRET, events, logger: linesInto(lines) })
    receiver.on('user.craeted', () => {}).on('user.deleted', () => {})
    expect(lines.map(({ message }) => message)).toEqual([expect.stringContaining("Did you mean 'user.created'?")])
  })

  it('spell each type as the package of its vendor does', () => {
    const examples: readonly { readonly name: string; readonly examples: readonly { readonly action?: string }[] }[] =
      createRequire(import.meta.url)('@octokit/webhooks-examples')
    const ofGitHub = examples.flatMap((event) =>
      event.examples.map(({ action }) => (action === undefined ? event.name : `${event.name}.${action}`)),
    )
    const listed = readFileSync('node_modules/stripe/cjs/resources/WebhookEndpoints.d.ts', 'utf8')
    const ofStripe = [...listed.matchAll(/'([a-z_]\S*\.[^'\s]+)'/g)].map(([, type]) => String(type))
    expect([ofGitHub.length > 100, ofStripe.length > 100]).toEqual([true, true])
    for (const type of [...ofGitHub, 'repository_dispatch.deploy/prod', 'repository_dispatch.On:Demand'])
      expect(github().spellType?.(type)).toBe(type)
    for (const { name, examples: all } of examples)
      if (all.every(({ action }) => action !== undefined)) expect(github().spellType?.(name)).toBe(`${name}.*`)
    for (const type of ['app/uninstalled', 'customers/data_request', 'customer.tags_added', 'orders/*', 'a.b/c'])
      expect(shopify().spellType?.(type)).toBe(type)
    for (const type of ofStripe) expect(stripe().spellType?.(type)).toBe(type)
  })
})

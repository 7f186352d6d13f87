import type { SecretRequest, Secrets } from 'postern'
import { events } from 'postern/testing'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { SecretsFunction } from '../../src/protocol/authenticate.ts'
import { Gate } from '../support/gate.ts'
import { atOnce, Bench, counting, raise, SECRET, settle, thenable, watchRejections } from './support.ts'

watchRejections()

const OLD = 'whsec_before_the_rotation'
const bytes = (text: string) => new TextEncoder().encode(text)

function receiving(secret: Secrets | SecretsFunction, options = {}) {
  const bench = new Bench({ secret, ...options })
  const ran: string[] = []
  bench.receiver.on('*', (event) => void ran.push(event.id))
  return { bench, ran }
}

const contact = (accountKey = 'acme') => events.contact.created({}, { accountKey })

describe('whose secret', () => {
  const bound = (accountKey: string, secret = SECRET) => ({ secret, accountKey })
  it.each<[string, Secrets, string, string, number, string?]>([
    ['the one', SECRET, SECRET, 'acme', 200],
    ['another', SECRET, OLD, 'acme', 401, 'signature_mismatch'],
    ['the first of a list', [SECRET, OLD], SECRET, 'acme', 200],
    ['the last of a list', [SECRET, bytes(OLD)], OLD, 'acme', 200],
    ['none of a list', [SECRET, OLD], 'other', 'acme', 401, 'signature_mismatch'],
    ['that of its account', bound('acme'), SECRET, 'acme', 200],
    ['that of another account', bound('acme'), SECRET, 'globex', 401, 'account_mismatch'],
    ['that of an account it is a prefix of', bound('acme'), SECRET, 'acm', 401, 'account_mismatch'],
    ['its own, beside others', [bound('acme'), bound('globex', OLD)], OLD, 'globex', 200],
    ['that of the other in the list', [bound('acme'), bound('globex', OLD)], OLD, 'acme', 401, 'account_mismatch'],
    ['one of two accounts, a third', [bound('acme'), bound('globex')], SECRET, 'initech', 401, 'account_mismatch'],
    ['one that is bound and bare', [bound('acme'), SECRET], SECRET, 'globex', 200],
    ['a bound one, beside another bare one', [bound('acme'), OLD], SECRET, 'globex', 401, 'account_mismatch'],
    ['bound to "__proto__", for another', bound('__proto__'), SECRET, 'acme', 401, 'account_mismatch'],
  ])('%s', async (_what, secret, signedWith, accountKey, status, code) => {
    for (const given of [secret, () => secret, async () => secret]) {
      const { bench, ran } = receiving(given)
      const outcome = await bench.send(contact(accountKey), { secret: signedWith })
      expect(outcome).toMatchObject(code === undefined ? { status } : { outcome: 'rejected', status, code })
      expect(ran).toHaveLength(status === 200 ? 1 : 0)
      expect(bench.store.count('claim')).toBe(status === 200 ? 1 : 0)
    }
  })

  it('a separate secret for every account, by claimedAccountKey: only that account’s secret proves it', async () => {
    const ofAccount: Readonly<Record<string, string>> = { acme: SECRET, globex: OLD }
    const secret: SecretsFunction = ({ claimedAccountKey = '' }) =>
      Object.hasOwn(ofAccount, claimedAccountKey)
        ? { secret: ofAccount[claimedAccountKey] ?? '', accountKey: claimedAccountKey }
        : undefined
    const { bench, ran } = receiving(secret)
    expect(await bench.send(contact('acme'), { secret: SECRET })).toMatchObject({ status: 200 })
    expect(await bench.send(contact('globex'), { secret: OLD })).toMatchObject({ status: 200 })
    expect(await bench.send(contact('globex'), { secret: SECRET })).toMatchObject({ code: 'signature_mismatch' })
    for (const unknown of ['initech', 'constructor', '__proto__'])
      expect(await bench.send(contact(unknown), { secret: SECRET })).toMatchObject({ code: 'unknown_source' })
    expect(ran).toHaveLength(2)
  })
})

describe('a secrets function', () => {
  it('gets the source, and the account only while it is called: its request keeps no body afterwards', async () => {
    const requests: SecretRequest[] = []
    const { bench } = receiving((request) => {
      requests.push(request)
      return SECRET
    })
    // Not JSON at all: a receiver that parsed it before the signature held would fail.
    expect(await bench.send('not JSON', { source: 'tenant-1' })).toMatchObject({ status: 400, code: 'invalid_json' })
    expect(requests[0]?.source).toBe('tenant-1')
    expect(requests[0]?.claimedAccountKey).toBeUndefined()
    await bench.send(contact('acme'))
    expect(requests[1]?.claimedAccountKey).toBeUndefined()
  })

  it('that asks for the account twice has the body parsed once, and nothing of it kept: the event is parsed again', async () => {
    const parse = vi.spyOn(JSON, 'parse')
    onTestFinished(() => parse.mockRestore())
    const { bench } = receiving((request) => {
      expect([request.claimedAccountKey, request.claimedAccountKey]).toEqual(['acme', 'acme'])
      expect(parse).toHaveBeenCalledTimes(1)
      return { secret: SECRET, accountKey: 'acme' }
    })
    expect(await bench.send(contact())).toMatchObject({ status: 200 })
    expect(parse).toHaveBeenCalledTimes(2)
  })

  it('that returns its secrets synchronously adds no wait', async () => {
    const { bench, ran } = receiving(() => SECRET, { usual: atOnce })
    const sent = bench.send(contact())
    expect(ran).toHaveLength(1)
    expect(await sent).toMatchObject({ status: 200 })
  })

  it('that reads a source which is undefined means 401, with that reason for the owner', async () => {
    const { bench } = receiving(({ source }) => (source === undefined ? undefined : SECRET))
    const outcome = await bench.send(contact())
    expect(outcome).toMatchObject({
      code: 'unknown_source',
      reason: expect.stringContaining('the source is undefined'),
    })
  })

  it.each<[string, () => unknown]>([
    ['throws an error', raise(new Error('vault sealed'))],
    ['rejects with undefined', () => Promise.reject(undefined)],
    ['gives a thenable whose then throws', () => thenable(raise(new Error('no')))],
    ['gives a list with an empty text in it', () => [SECRET, '']],
    ['gives a bound secret without the account', () => ({ secret: SECRET })],
  ])('that %s is the app’s failure: 503, never 401', async (_what, secret) => {
    const { bench, ran } = receiving(secret as SecretsFunction) // plain JavaScript may return anything
    expect(await bench.send(contact())).toMatchObject({ outcome: 'failed', status: 503, code: 'secrets_unavailable' })
    expect(bench.codes).toEqual(['secrets_unavailable'])
    expect(bench.errors[0]).toHaveProperty('cause')
    expect(bench.store.calls).toEqual([])
    expect(ran).toEqual([])
    expect(bench.outcomes).toHaveLength(1)
  })

  it('may rotate bytes in place: they count in their state at each delivery', async () => {
    const current = bytes(SECRET)
    const { bench } = receiving(() => current)
    expect(await bench.send(contact())).toMatchObject({ status: 200 })
    current.set(bytes('whsec_of_the_same_size').subarray(0, current.length))
    expect(await bench.send(contact())).toMatchObject({ status: 401, code: 'signature_mismatch' })
    expect(await bench.send(contact(), { secret: Uint8Array.from(current) })).toMatchObject({ status: 200 })
  })

  it('that takes over 3 s is answered 503 then, and its late end changes nothing', async () => {
    const gate = new Gate<string>()
    const { bench, ran } = receiving(() => gate.promise)
    const sent = bench.send(contact())
    await bench.clock.advance(2_999)
    expect(bench.outcomes).toEqual([])
    await bench.clock.advance(1)
    expect(await sent).toMatchObject({ status: 503, code: 'secrets_unavailable' })
    expect(bench.errors[0]?.message).toContain('no answer within 3000 ms')
    gate.open(SECRET)
    await bench.clock.advance(10_000)
    expect(ran).toEqual([])
    expect(bench.outcomes).toHaveLength(1)
  })
})

describe('a bare secret', () => {
  it.each<[string, SecretsFunction]>([
    ['chosen by source', ({ source }) => (source === undefined ? undefined : SECRET)],
    ['in a list, chosen by source', async ({ source }) => [{ secret: SECRET, accountKey: source ?? '' }, OLD]],
    ['chosen by the claimed account', (request) => (request.claimedAccountKey === 'acme' ? SECRET : undefined)],
  ])('%s is the owner’s error: its holder could sign for every other account', async (_what, secret) => {
    const { bench, ran } = receiving(secret)
    const outcome = await bench.send(contact('acme'), { source: 'acme' })
    expect(outcome).toMatchObject({ outcome: 'failed', status: 503, code: 'secret_unbound' })
    expect(bench.errors).toMatchObject([{ code: 'secret_unbound' }])
    expect(bench.errors[0]?.message).toContain('Return { secret, accountKey }.')
    expect([ran, bench.store.calls]).toEqual([[], []])
  })

  it('of a function that read neither is accepted', async () => {
    const { bench, ran } = receiving(async () => [OLD, SECRET])
    expect(await bench.send(contact('acme'), { source: 'globex' })).toMatchObject({ outcome: 'handled' })
    expect(ran).toHaveLength(1)
  })
})

it.each([
  ['400 if it has an account to choose one by', 'acme', { status: 400, code: 'invalid_envelope' }],
  ['401 if it has none', undefined, { status: 401, code: 'unknown_source' }],
])('a body that is no event is answered %s', async (_what, accountKey, expected) => {
  const { bench, ran } = receiving((request) => {
    const claimed = request.claimedAccountKey
    return claimed && { secret: SECRET, accountKey: claimed }
  })
  expect(await bench.send(JSON.stringify({ type: 'a.b', accountKey }))).toMatchObject(expected)
  expect([ran, bench.store.calls]).toEqual([[], []])
})

const lookUp = () => Promise.reject(new Error('db down'))
it.each<[string, () => unknown, string]>([
  ['a list', () => [lookUp(), lookUp()], 'is a promise: await it'],
  ['a bound one', () => ({ secret: lookUp(), accountKey: 'acme' }), 'is a promise: await it'],
  ['an account', () => ({ secret: SECRET, accountKey: lookUp() }), 'The accountKey of a bound secret is a promise'],
])(
  'secrets that were not awaited, %s, are refused and leave no unhandled rejection behind',
  async (_what, secret, why) => {
    const { bench } = counting({ secret })
    expect(await bench.send(events.contact.created())).toMatchObject({ status: 503, code: 'secrets_unavailable' })
    expect(bench.errors[0]?.message).toContain(why)
    await settle()
  },
)

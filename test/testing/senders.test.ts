import { receiveFrom } from 'postern'
import { nodeHandler } from 'postern/node'
import { github, type OpenTypes, type Sender, shopify, standardWebhooks, stripe } from 'postern/senders'
import {
  createSender,
  manualClock,
  nodeTarget,
  recordHandlers,
  type SenderTamper,
  signed,
  silentLogger,
} from 'postern/testing'
import 'postern/testing/vitest'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { type Vendor, vendors } from '../senders/vendors.ts'
import { START } from './support.ts'

const secretOf = (name: string) => vendors.find((vendor) => vendor.name === name)?.secret ?? ''
const payloadOf = ({ body }: Vendor): object => JSON.parse(body)
/** The options that name the event of a vendor, if its headers do. */
const namesOf = ({ name, event }: Vendor) => (['GitHub', 'Shopify'].includes(name) ? { type: event.type } : {})

function start({ sender, secret, name }: Pick<Vendor, 'sender' | 'secret' | 'name'>) {
  const clock = manualClock(START)
  const receiver = receiveFrom(sender, { secret, clock, logger: silentLogger, name: name.replace(' ', '') })
  receiver.on('*', () => {})
  return {
    clock,
    receiver,
    handled: recordHandlers(receiver),
    test: createSender({ sender, secret, clock, target: nodeTarget(nodeHandler(receiver)) }),
  }
}

const CODES: Readonly<Record<Exclude<SenderTamper, 'none' | 'expired'>, string>> = {
  'flip-bit': 'signature_mismatch',
  reserialised: 'signature_mismatch',
  'other-secret': 'signature_mismatch',
  'no-header': 'signature_missing',
  'two-headers': 'signature_malformed',
}

describe.each(vendors)('a delivery of $name by the test kit', (vendor) => {
  const { sender, secret } = vendor

  it('is what its vendor verifies, and its receiver handles by the names that its headers have', async () => {
    const receiver = receiveFrom(sender, { secret, logger: silentLogger }).on('*', () => {})
    const delivery = signed(payloadOf(vendor), { sender, secret, ...namesOf(vendor) })
    expect(await vendor.judge(delivery.body.toString(), secret, delivery.headers)).toBe(true)
    const outcome = await receiver.receive(delivery)
    expect(outcome).toMatchObject({ outcome: 'handled', type: vendor.event.type })
  })

  it('has another id each time, and names that need no options', async () => {
    const { receiver } = start(vendor)
    const make = () => signed(payloadOf(vendor), { sender, secret, at: Date.parse(START) })
    const ids = [await receiver.receive(make()), await receiver.receive(make())].map(({ outcome }) => outcome)
    expect(ids).toEqual(['handled', vendor.name === 'Stripe' ? 'duplicate' : 'handled'])
  })

  it.each(Object.entries(CODES))('is refused if it is tampered with by %s', async (tamper, code) => {
    const { receiver } = start(vendor)
    const options = { sender, secret, at: Date.parse(START), tamper: tamper as SenderTamper } // a key of CODES
    expect(await receiver.receive(signed(payloadOf(vendor), options))).toMatchObject({ code, status: 401 })
  })

  it('is refused if it was signed too long ago, unless no time is signed', async () => {
    const { test } = start(vendor)
    const send = () => test.send(payloadOf(vendor), { tamper: 'expired' })
    if (sender.toleranceMs === undefined) await expect(send()).rejects.toThrow(`${sender.name} signs none`)
    else expect(await send()).toBeRejected(401)
  })

  it("is repeated by the sender's own schedule, signed anew under the same id", async () => {
    const { clock, handled, test } = start(vendor)
    handled.failTimes(sender.attempts - 1)
    const delivery = test.deliver(payloadOf(vendor), namesOf(vendor))
    await clock.advance(sender.duplicatesForMs + 60_000)
    expect(await delivery).toHaveAttempts(sender.attempts)
    expect(await delivery).toBeAcknowledged()
    expect(new Set(handled.runs.map(({ event }) => event.id)).size).toBe(1)
    const [first, last] = [delivery.attempts[0], delivery.attempts.at(-1)]
    const took = (last?.at ?? 0) - (first?.at ?? 0)
    expect(Math.abs(took - (sender.attempts === 1 ? 0 : sender.duplicatesForMs))).toBeLessThan(1_000)
  })

  it('arrives in all ways of a sender', async () => {
    const { clock, handled, test } = start(vendor)
    const payload = payloadOf(vendor)
    const codes = (await test.duplicate(payload, 2)).map(({ body }) => JSON.parse(body).code)
    expect(codes).toEqual(['handled', 'duplicate'])
    expect(await test.send(payload, { tamper: 'two-headers' })).toBeRejected(401)
    for (const attempt of await test.concurrently(payload, 3)) expect(attempt).toBeAcknowledged()
    for (const attempt of await test.outOfOrder([payload, payload])) expect(attempt).toBeAcknowledged()
    expect(await test.chunked(payload, 7)).toBeAcknowledged()
    expect(await test.abortAfter(payload, '2s')).toBeAcknowledged()
    expect(clock.pending).toBe(0)
    for (const { event } of handled.runs) expect(handled).toHaveHandledOnce(event.id)
  })
})

it('warns once if the header names the type and none is passed, as its receiver ignores it', () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => warn.mockRestore())
  const sender = { ...github(), name: 'Hub' }
  const sign = (options: object) => signed({ action: 'opened' }, { sender, secret: 'a secret', ...options })
  for (const options of [{ type: 'issues.opened' }, { tamper: 'flip-bit' }]) sign(options)
  expect(warn).not.toHaveBeenCalled()
  for (let times = 0; times < 2; times++) sign({})
  expect(warn.mock.calls).toEqual([
    [expect.stringMatching(/Hub names it in a header: it is "test\.opened"\. Pass \{ type \}/), 'PosternWarning'],
  ])
})

it('waits for an answer as long as the sender does', async () => {
  const clock = manualClock(START)
  const target = { send: () => new Promise<never>(() => {}) }
  const attempt = createSender({ sender: shopify(), secret: 'a client secret', clock, target }).send({})
  await clock.advance('5s')
  expect(await attempt).toMatchObject({ failure: 'timeout', durationMs: 5_000 })
})

it('sends text and bytes as they are, even if they are no event', async () => {
  const { receiver, test } = start({ name: 'Stripe', sender: stripe(), secret: secretOf('Stripe') })
  receiver.on('a.b', () => {})
  for (const body of ['not json', '{}', new Uint8Array([0xff])]) expect(await test.send(body)).toBeRejected(400)
})

it('can be replayed under another id, which GitHub does not sign', async () => {
  const secret = secretOf('GitHub')
  const codes = async (sender: Sender<OpenTypes>) => {
    const { test } = start({ name: 'GitHub', sender, secret })
    const attempts = [await test.send({}, { id: 'one' }), await test.send({}, { id: 'two' })]
    return attempts.map(({ body }) => JSON.parse(body).code)
  }
  expect(await codes(github())).toEqual(['handled', 'handled'])
  expect(await codes(github({ once: 'body' }))).toEqual(['handled', 'duplicate'])
})

it('is found by the matcher by its data, which may have a field `record`', async () => {
  const { handled, test } = start({ name: 'GitHub', sender: github(), secret: secretOf('GitHub') })
  await test.send({ table: 'users', record: { id: 7 } }, { type: 'insert' })
  expect(handled).toHaveHandled('insert', { table: 'users', record: { id: 7 } })
  expect(handled).toHaveHandled('insert', { id: 7 })
  expect(handled).not.toHaveHandled('insert', { table: 'orders' })
})

describe('is refused when it is made', () => {
  const loose = signed as (...given: unknown[]) => unknown
  const hub = { sender: github(), secret: 'a secret' }
  const own = (change: object) => ({ ...hub, sender: { ...github(), ...change } })

  it.each<[what: string, told: RegExp, payload: unknown, options: object]>([
    [
      'a profile that was not called',
      /sender is a function; give a sender.*github\(\)/,
      {},
      { ...hub, sender: github },
    ],
    ['no profile', /sender is undefined; give a sender/, {}, { ...hub, sender: undefined }],
    ['a misspelt option', /no option "acountKey"/, {}, { ...hub, acountKey: 'a' }],
    ['an option of the service', /no option "signatureHeader"/, {}, { ...hub, signatureHeader: 'X-A' }],
    ['a tamper of the service', /tamper is "no-prefix"; give .*two-headers/, {}, { ...hub, tamper: 'no-prefix' }],
    ['a wrong kind of secret', /access token of GitHub/, {}, { ...hub, secret: 'ghp_1' }],
    ['no secret', /signing secret is undefined.*GitHub/, {}, { sender: github() }],
    ['a promise', /payload is a promise; give/, Promise.resolve({}), hub],
    ['what is signed already', /payload is an object; give/, signed({}, hub), hub],
    ['a list', /is not an object/, [], hub],
    [
      'a payload that is no event',
      /no event of Stripe.*as text/,
      { id: 'evt_1' },
      { sender: stripe(), secret: 'whsec_a' },
    ],
    [
      'a type that the payload does not have',
      /type is "issues.opened", but GitHub names "issues" by/,
      {},
      { ...hub, type: 'issues.opened' },
    ],
    [
      'an id that the payload has',
      /id is "evt_2", but Stripe names "evt_1"/,
      { id: 'evt_1', type: 'a' },
      { sender: stripe(), secret: 'whsec_a', id: 'evt_2' },
    ],
    ['an id that its sender could not send', /cannot read the headers/, {}, { ...hub, id: 'two words' }],
    [
      'an own sender that signs wrongly',
      /another signature than its readHead/,
      {},
      own({ readHead: () => ({ digests: [new Uint8Array(32)] }) }),
    ],
  ])('%s', (_what, told, payload, options) => {
    expect(() => loose(payload, options)).toThrow(told)
  })

  it('takes a type of Standard Webhooks that the payload has', () => {
    const sender = standardWebhooks()
    expect(() =>
      signed({ type: 'user.created' }, { sender, secret: secretOf('Svix'), type: 'user.created' }),
    ).not.toThrow()
  })
})

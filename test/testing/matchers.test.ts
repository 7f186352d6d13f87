import { createSender, events, type HandlerRecorder, type HandlerRun, manualClock, matchers } from 'postern/testing'
import 'postern/testing/vitest'
import { describe, expect, it } from 'vitest'
import { secret } from './support.ts'

const attempt = (status: number | undefined, rest: object = {}) => ({ status, body: '', failure: 'status', ...rest })
const delivery = (...attempts: readonly object[]) => ({ status: 'failed', attempts, next: undefined })
const run = (type: string, data: object, rest: Partial<HandlerRun> = {}): HandlerRun => ({
  event: { id: 'evt_1', type, timestamp: '', accountKey: 'acme', data: { ...data } },
  handlerName: type,
  state: 'finished',
  ...rest,
})
const recorder = (...runs: readonly HandlerRun[]) => ({ runs }) as HandlerRecorder // the matchers read no more

/** Asserts by a matcher, or by its negation. */
const by =
  (name: keyof typeof matchers, value: unknown, ...given: readonly unknown[]) =>
  (not: boolean): void => {
    const assertion = not ? expect(value).not : expect(value)
    Reflect.apply(Reflect.get(assertion, name), assertion, given)
  }

/** Expects that the assertion passes, that `.not` fails, and its message. */
function mustPass(assert: (not: boolean) => void, message: RegExp): void {
  assert(false)
  expect(() => assert(true)).toThrow(message)
}

/** Expects that the assertion fails with this message, and that `.not` passes. */
function mustFail(assert: (not: boolean) => void, message: RegExp): void {
  expect(() => assert(false)).toThrow(message)
  assert(true)
}

describe('toBeAcknowledged', () => {
  const check = (value: unknown) => by('toBeAcknowledged', value)

  it.each<unknown[]>([
    [attempt(200)],
    [attempt(204)],
    [delivery(attempt(500), attempt(200))],
    [new Response()],
    [{ outcome: 'handled', status: 200 }],
  ])('accepts %j', (value) => mustPass(check(value), /expected it not to be acknowledged; its status is 20/))

  it.each<[unknown, RegExp]>([
    [attempt(500, { body: 'oops' }), /expected it to be acknowledged; its status is 500 oops/],
    [attempt(301), /its status is 301/],
    [attempt(undefined, { failure: 'timeout' }), /no answer came \(timeout\)/],
    [attempt(undefined, { failure: 'connection', error: new Error('reset') }), /no answer came \(connection: reset\)/],
    [delivery(attempt(200), attempt(500)), /its status is 500/],
    [delivery(), /no attempt has ended yet/],
    [new Response('', { status: 404 }), /its status is 404/],
    [{ status: 422, code: 'invalid_record' }, /its status is 422 invalid_record/],
  ])('refuses %j', (value, message) => mustFail(check(value), message))
})

describe('toBeRejected', () => {
  const check = (value: unknown, status?: number) => by('toBeRejected', value, status)

  it.each<[unknown, number?]>([
    [attempt(401), 401],
    [attempt(422)],
    [{ outcome: 'rejected', status: 401, code: 'signature_mismatch' }, 401],
    [delivery(attempt(409))],
  ])('accepts %j and %s', (value, status) => mustPass(check(value, status), /expected it not to be rejected with/))

  it.each<[unknown, number | undefined, RegExp]>([
    [attempt(200), undefined, /to be rejected with a 4xx status; its status is 200/],
    [attempt(500), undefined, /its status is 500/],
    [attempt(422), 401, /to be rejected with 401; its status is 422/],
    [attempt(undefined, { failure: 'aborted' }), undefined, /no answer came \(aborted\)/],
  ])('refuses %j and %s', (value, status, message) => mustFail(check(value, status), message))
})

it.each([
  ['404 of Express', attempt(404, { body: 'Cannot POST /webhooks' })],
  ['404 of a Response', new Response('', { status: 404 })],
  ['404 of a delivery', delivery(attempt(404))],
  ['405 of a router', attempt(405, { body: 'Method Not Allowed' })],
])('toBeRejected takes no %s for a rejection, also under .not', (_what, value) => {
  for (const not of [true, false])
    expect(() => by('toBeRejected', value)(not)).toThrow(
      /no receiver answered at the path of the target: its status is 40[45]/,
    )
})

it.each([
  [attempt(405, { body: '{"code":"method_not_allowed"}' })],
  [{ outcome: 'rejected', status: 405, code: 'method_not_allowed' }],
  [new Response('', { status: 405 })],
])('toBeRejected takes a 405 of a receiver: %j', (value) => by('toBeRejected', value, 405)(false))

describe('toHaveAttempts', () => {
  const check = (value: unknown, count: number) => by('toHaveAttempts', value, count)
  const two = delivery(attempt(500), attempt(undefined, { failure: 'timeout' }))

  it('counts', () => {
    mustPass(check(two, 2), /not to have 2 attempts/)
    mustFail(check(two, 3), /to have 3 attempts; it has 2: 500, timeout/)
    mustFail(check(delivery(), 1), /it has 0: none/)
  })
})

describe('toHaveHandled', () => {
  const check = (value: unknown, type: string, partial?: object) => by('toHaveHandled', value, type, partial)
  const record = { _id: '1', email: 'zoe@example.test', tags: ['a', 'b'], address: { city: 'Bern', zip: '3000' } }
  const handled = recorder(run('contact.created', { record }), run('sync.failed', { vendor: 'ledger', error: 'x' }))

  it.each<[string, object?]>([
    ['contact.created'],
    ['contact.created', { email: 'zoe@example.test' }],
    ['contact.created', { address: { city: 'Bern' } }],
    ['contact.created', { email: expect.stringContaining('@'), tags: ['a', 'b'] }],
    ['sync.failed', { vendor: 'ledger' }],
  ])('accepts %s with %j', (type, partial) => mustPass(check(handled, type, partial), /not to have handled/))

  it('shows the difference to the last event of the type', () => {
    const partial = { email: 'bob@example.test', phone: '1', tags: ['a', 'b'], address: { city: 'Basel', zip: '3000' } }
    const difference = [
      "evt_1.email: 'bob@example.test' was wanted, not 'zoe@example.test'",
      'evt_1.phone: is not there',
      "evt_1.address.city: 'Basel' was wanted, not 'Bern'",
    ]
    mustFail(check(handled, 'contact.created', partial), new RegExp(`finished\n  ${difference.join('\n  ')}$`))
  })

  it.each<[string, object?]>([
    ['contact.updated'],
    ['contact.created', { email: 'other@example.test' }],
    ['contact.created', { phone: undefined }],
    ['contact.created', { tags: ['a'] }],
    ['contact.created', { address: { city: 'Bern', street: 'x' } }],
    ['contact.created', { email: { at: 'x' } }],
  ])('refuses %s with %j', (type, partial) =>
    mustFail(check(handled, type, partial), /these ran:\n {2}contact.created evt_1 by contact.created: finished\n/),
  )

  it('does not count runs that failed or still run', () => {
    for (const state of ['failed', 'running'] as const)
      mustFail(check(recorder(run('a.created', {}, { state })), 'a.created'), new RegExp(`by a.created: ${state}`))
    mustFail(check(recorder(), 'a.created'), /no handler ran/)
  })
})

describe('toHaveHandledOnce', () => {
  const check = (value: unknown, id = 'evt_1') => by('toHaveHandledOnce', value, id)
  const [done, failed] = [run('a.created', {}), run('a.created', {}, { state: 'failed' })]

  it('accepts one finished run of every handler, whatever failed before', () => {
    mustPass(check(recorder(done)), /not to have handled evt_1 once/)
    mustPass(check(recorder(failed, failed, done, run('a.created', {}, { handlerName: 'other' }))), /not to have/)
  })

  it('refuses none and two', () => {
    mustFail(check(recorder(done, done)), /to have handled evt_1 once; these ran/)
    mustFail(check(recorder(failed)), /to have handled/)
    mustFail(check(recorder(done), 'evt_2'), /to have handled evt_2 once/)
    mustFail(check(recorder()), /no handler ran/)
  })
})

describe('toHaveScheduledNext', () => {
  it('knows the delay after the last attempt', async () => {
    const clock = manualClock()
    const target = { send: async () => ({ status: 500, headers: {}, body: '' }) }
    const pending = createSender({ target, secret, clock }).deliver(events.syncCompleted())
    await clock.advance('12s')
    const check = (delay: number | string) => by('toHaveScheduledNext', pending, delay)
    mustPass(check('30s'), /not to be tried again 30s after its last attempt/)
    mustPass(check(30_000), /not to be/)
    mustFail(check('5m'), /to be tried again 5m after its last attempt; it comes 30 s after/)
    await clock.advance('3h')
    mustFail(check('30s'), /nothing is scheduled: it is failed/)
  })
})

it.each<[keyof typeof matchers, unknown, RegExp]>([
  ['toBeAcknowledged', 'text', /"text" has no status/],
  ['toBeRejected', {}, /an object has no status/],
  ['toHaveAttempts', attempt(200), /toHaveAttempts: it takes a delivery/],
  ['toHaveScheduledNext', undefined, /toHaveScheduledNext: it takes a delivery/],
  ['toHaveHandled', null, /toHaveHandled: it takes the result of recordHandlers\(\)/],
  ['toHaveHandledOnce', { runs: 1 }, /toHaveHandledOnce: it takes the result of recordHandlers\(\)/],
])('%s names its argument, instead of %j', (name, value, message) => {
  const matcher: (this: object, received: unknown, expected: never) => unknown = matchers[name] as never // each takes its own
  const context = { isNot: false, equals: Object.is }
  expect(() => matcher.call(context, value, '1s' as never)).toThrow(message) // no argument is checked before
})

it('refuses what a negated matcher would let pass: a misspelt field, and a type in the place of an id', () => {
  const handled = recorder(run('contact.created', { record: { _id: '1', email: 'zoe@example.test' } }))
  const { toHaveHandled, toHaveHandledOnce } = matchers
  const negated = { isNot: true, equals: Object.is }
  expect(() => toHaveHandled.call(negated, handled, 'contact.created', { emial: 'x' })).toThrow(
    /did you mean "email"\?/,
  )
  const negate = (partial: object) => toHaveHandled.call(negated, handled, 'contact.created', partial)
  expect(() => negate({ accountKey: 'globex' })).toThrow(/accountKey is not in the record.*handled\.runsOfType/)
  expect(() => negate({ type: 'contact.created' })).toThrow(/type is not in the record/)
  expect(() => negate({ email: undefined })).toThrow(/email is undefined/)
  expect(toHaveHandled.call(negated, handled, 'contact.created', { phone: '1' }).pass).toBe(false)
  expect(() => toHaveHandledOnce.call(negated, handled, 'contact.created')).toThrow(/is a type; give the id/)
})

describe('in an editor', () => {
  it('are typed', () => {
    const handled = recorder(run('contact.created', {}))
    expect(handled).toHaveHandled('contact.created')
    // @ts-expect-error: a type is wanted
    const untyped = () => expect(handled).toHaveHandled()
    // @ts-expect-error: a count is wanted
    const uncounted = () => expect(delivery()).toHaveAttempts('three')
    expect([untyped, uncounted]).toHaveLength(2)
  })
})

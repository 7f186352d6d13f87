import { events, type Tamper } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import {
  type Behaviour,
  Bench,
  hanging,
  type Method,
  raise,
  rejecting,
  request,
  saying,
  watchRejections,
} from './support.ts'

watchRejections()

/** Differences from a delivery whose handler succeeds. */
interface Setup {
  readonly options?: Record<string, unknown>
  readonly handler?: (() => unknown) | 'none'
  readonly plan?: (bench: Bench) => unknown
  readonly request?: Parameters<typeof request>[1]
  readonly body?: Parameters<typeof request>[0]
}

/** One row of the table of answers: the situation, the status, the outcome with its code, and the calls of the store. */
type Row = readonly [situation: string, status: number, outcome: string, store: readonly Method[], setup?: Setup]

const fail = raise(new Error('no'))
const forEver = () => new Promise<never>(() => {})
const busy = Array(9).fill(saying({ state: 'busy' }))
const refused = { issues: [{ message: 'no', path: ['email'] }] }
const contactBy = (validate: () => unknown) => ({
  options: { models: { contact: { '~standard': { version: 1, vendor: 'test', validate } } } },
})
const GIVEN_BACK: readonly Method[] = ['claim', 'release']
const planned = (method: Method, ...behaviours: Behaviour[]) => ({
  plan: ({ store }: Bench) => store.plan(method, ...behaviours),
})
const header = (name: string, value: string | undefined) => ({ request: { headers: { [name]: value } } })
const tampered = (tamper: Tamper) => ({ request: { options: { tamper } } })
const unread = (failure: 'body_too_large' | 'body_incomplete' | 'body_consumed') => ({
  request: { read: () => ({ failure }) },
})
const OTHER_ACCOUNT = { secret: 'whsec_receiver_tests', accountKey: 'globex' }
const full: Setup = {
  options: { maxInFlight: 1 },
  plan: async (bench) => {
    bench.receiver.on('sync.completed', forEver)
    bench.receiver.dispatch(events.syncCompleted())
    await bench.clock.advance(0)
    bench.store.calls.length = bench.outcomes.length = 0
  },
}

const rows: readonly Row[] = [
  ['handlers succeeded', 200, 'handled', ['claim', 'complete']],
  ['duplicate of a done event', 200, 'duplicate', ['claim'], planned('claim', saying({ state: 'done' }))],
  ['no handler for the type', 200, 'ignored', [], { body: events.exportCompleted() }],
  ['no handler registered at all', 500, 'error no_handlers', [], { handler: 'none' }],
  ['being handled elsewhere until the deadline', 409, 'busy', Array(8).fill('claim'), planned('claim', ...busy)],
  ['not POST', 405, 'rejected method_not_allowed', [], { request: { method: 'GET' } }],
  ['declared length over the limit', 413, 'rejected body_too_large', [], header('content-length', '1048577')],
  ['body over the limit', 413, 'rejected body_too_large', [], unread('body_too_large')],
  ['body not complete by the deadline', 408, 'rejected body_timeout', [], { request: { read: forEver } }],
  ['body that broke off', 400, 'rejected body_incomplete', [], unread('body_incomplete')],
  ['content encoding', 415, 'rejected unsupported_encoding', [], header('content-encoding', 'gzip')],
  ['signature missing', 401, 'rejected signature_missing', [], header('x-service-signature', undefined)],
  ['signature malformed', 401, 'rejected signature_malformed', [], tampered('non-hex')],
  ['signature wrong', 401, 'rejected signature_mismatch', [], tampered('other-secret')],
  ['no secret for the source', 401, 'rejected unknown_source', [], { options: { secret: () => null } }],
  ['the secret of another account', 401, 'rejected account_mismatch', [], { options: { secret: OTHER_ACCOUNT } }],
  ['signed, but not UTF-8', 400, 'rejected invalid_utf8', [], { body: Uint8Array.of(0xff) }],
  ['signed, but not JSON', 400, 'rejected invalid_json', [], { body: '{' }],
  ['signed, but not an envelope', 400, 'rejected invalid_envelope', [], { body: '{}' }],
  ['the schema refuses the record', 422, 'rejected invalid_record', GIVEN_BACK, contactBy(() => refused)],
  ['a handler threw', 500, 'failed handler_failed', GIVEN_BACK, { handler: fail }],
  ['a schema threw', 500, 'failed schema_failed', GIVEN_BACK, contactBy(fail)],
  ['still running at the deadline', 503, 'late', ['claim', 'renew'], { handler: forEver }],
  ['store failing at the claim', 503, 'failed store_unavailable', ['claim'], planned('claim', rejecting)],
  ['store not answering at the claim', 503, 'failed store_unavailable', ['claim'], planned('claim', hanging)],
  ['complete fails after success', 200, 'handled', ['claim', 'complete', 'complete'], planned('complete', rejecting)],
  ['another holder after success', 503, 'failed lease_lost', ['claim', 'complete'], planned('complete', saying(false))],
  ['secrets function throws', 503, 'failed secrets_unavailable', [], { options: { secret: fail } }],
  ['secrets function hangs', 503, 'failed secrets_unavailable', [], { options: { secret: forEver } }],
  ['secrets function gives an empty secret', 503, 'failed secrets_unavailable', [], { options: { secret: () => '' } }],
  ['shutting down', 503, 'closing', [], { plan: ({ receiver }) => receiver.close() }],
  ['more than maxInFlight under way', 503, 'overloaded', ['renew'], full],
  ['body was consumed by the app', 500, 'error body_consumed', [], unread('body_consumed')],
]

describe('the table of answers', () => {
  it.each(rows.map((row) => [row[0], row] as const))('%s', async (situation, row) => {
    const [, status, expected, calls, setup = {}] = row
    const bench = new Bench(setup.options)
    const [name, code] = expected.split(' ')
    const { handler = () => {} } = setup
    let ran = 0
    if (handler !== 'none')
      bench.receiver.on('contact.created', () => {
        ran++
        return handler()
      })
    await setup.plan?.(bench)
    const replying = bench.receiver.handle(request(setup.body ?? events.contact.created(), setup.request))
    await bench.clock.advance(8_000)
    const reply = await replying
    const outcome = bench.outcomes.find(({ type }) => type !== 'sync.completed')
    expect(outcome).toMatchObject({ status, outcome: name, ...(code && { code }) })
    expect(reply.status).toBe(status)
    expect(JSON.parse(reply.body)).toMatchObject({ code: status === 401 ? 'unauthorized' : (code ?? name) })
    expect(bench.store.calls.map(({ method }) => method)).toEqual(calls)
    expect(ran).toBe(/handler threw|still running|succe/.test(situation) ? 1 : 0)
    await bench.clock.advance(100_000)
  })
})

import type { Outcome, StandardSchema } from 'postern'
import { events } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { Bench, hanging, type Method, rejecting, request, saying, watchRejections } from './support.ts'

watchRejections()

/** One row of the table of answers: the situation, the answer, and the expected calls of the store. */
interface Row {
  readonly situation: string
  readonly options?: Record<string, unknown>
  readonly handler?: (() => unknown) | 'none'
  readonly plan?: (bench: Bench) => unknown
  readonly request?: Parameters<typeof request>[1]
  readonly body?: Parameters<typeof request>[0]
  readonly status: number
  readonly outcome: Outcome['outcome']
  readonly code?: string
  readonly store: readonly Method[]
}

const fail = () => {
  throw new Error('no')
}
const forEver = () => new Promise(() => {})
const busy = Array(9).fill(saying({ state: 'busy' }))
const schema = (validate: () => unknown): StandardSchema => ({
  '~standard': { version: 1, vendor: 'test', validate: validate as () => { value: unknown } }, // a schema may do anything
})
const refused = schema(() => ({ issues: [{ message: 'no', path: ['email'] }] }))
const NO_SIGNATURE = { headers: { 'x-service-signature': undefined } }
const unread = (failure: 'body_too_large' | 'body_incomplete' | 'body_consumed') => ({ read: () => ({ failure }) })
const event = () => events.contact.created()

const rows: readonly Row[] = [
  { situation: 'handlers succeeded', status: 200, outcome: 'handled', store: ['claim', 'complete'] },
  {
    situation: 'duplicate of a done event',
    plan: ({ store }) => store.plan('claim', saying({ state: 'done' })),
    status: 200,
    outcome: 'duplicate',
    store: ['claim'],
  },
  { situation: 'no handler for the type', body: events.exportCompleted(), status: 200, outcome: 'ignored', store: [] },
  {
    situation: 'no handler registered at all',
    handler: 'none',
    status: 500,
    outcome: 'error',
    code: 'no_handlers',
    store: [],
  },
  {
    situation: 'being handled elsewhere until the deadline',
    plan: ({ store }) => store.plan('claim', ...busy),
    status: 409,
    outcome: 'busy',
    store: Array<Method>(8).fill('claim'),
  },
  {
    situation: 'not POST',
    request: { method: 'GET' },
    status: 405,
    outcome: 'rejected',
    code: 'method_not_allowed',
    store: [],
  },
  {
    situation: 'declared length over the limit',
    request: { headers: { 'content-length': '1048577' } },
    status: 413,
    outcome: 'rejected',
    code: 'body_too_large',
    store: [],
  },
  {
    situation: 'body over the limit',
    request: unread('body_too_large'),
    status: 413,
    outcome: 'rejected',
    code: 'body_too_large',
    store: [],
  },
  {
    situation: 'body not complete by the deadline',
    request: { read: () => new Promise<never>(() => {}) },
    status: 408,
    outcome: 'rejected',
    code: 'body_timeout',
    store: [],
  },
  {
    situation: 'body that broke off',
    request: unread('body_incomplete'),
    status: 400,
    outcome: 'rejected',
    code: 'body_incomplete',
    store: [],
  },
  {
    situation: 'content encoding',
    request: { headers: { 'content-encoding': 'gzip' } },
    status: 415,
    outcome: 'rejected',
    code: 'unsupported_encoding',
    store: [],
  },
  {
    situation: 'signature missing',
    request: NO_SIGNATURE,
    status: 401,
    outcome: 'rejected',
    code: 'signature_missing',
    store: [],
  },
  {
    situation: 'signature malformed',
    request: { options: { tamper: 'non-hex' } },
    status: 401,
    outcome: 'rejected',
    code: 'signature_malformed',
    store: [],
  },
  {
    situation: 'signature wrong',
    request: { options: { tamper: 'other-secret' } },
    status: 401,
    outcome: 'rejected',
    code: 'signature_mismatch',
    store: [],
  },
  {
    situation: 'no secret for the source',
    options: { secret: () => null },
    status: 401,
    outcome: 'rejected',
    code: 'unknown_source',
    store: [],
  },
  {
    situation: 'the secret of another account',
    options: { secret: { secret: 'whsec_receiver_tests', accountKey: 'globex' } },
    status: 401,
    outcome: 'rejected',
    code: 'account_mismatch',
    store: [],
  },
  {
    situation: 'signed, but not UTF-8',
    body: Uint8Array.of(0xff),
    status: 400,
    outcome: 'rejected',
    code: 'invalid_utf8',
    store: [],
  },
  { situation: 'signed, but not JSON', body: '{', status: 400, outcome: 'rejected', code: 'invalid_json', store: [] },
  {
    situation: 'signed, but not an envelope',
    body: '{}',
    status: 400,
    outcome: 'rejected',
    code: 'invalid_envelope',
    store: [],
  },
  {
    situation: 'the schema refuses the record',
    options: { models: { contact: refused } },
    status: 422,
    outcome: 'rejected',
    code: 'invalid_record',
    store: ['claim', 'release'],
  },
  {
    situation: 'a handler threw',
    handler: fail,
    status: 500,
    outcome: 'failed',
    code: 'handler_failed',
    store: ['claim', 'release'],
  },
  {
    situation: 'a schema threw',
    options: { models: { contact: schema(fail) } },
    status: 500,
    outcome: 'failed',
    code: 'schema_failed',
    store: ['claim', 'release'],
  },
  {
    situation: 'still running at the deadline',
    handler: forEver,
    status: 503,
    outcome: 'late',
    store: ['claim', 'renew'],
  },
  {
    situation: 'store failing at the claim',
    plan: ({ store }) => store.plan('claim', rejecting),
    status: 503,
    outcome: 'failed',
    code: 'store_unavailable',
    store: ['claim'],
  },
  {
    situation: 'store not answering at the claim',
    plan: ({ store }) => store.plan('claim', hanging),
    status: 503,
    outcome: 'failed',
    code: 'store_unavailable',
    store: ['claim'],
  },
  {
    situation: 'complete fails after the handlers succeeded',
    plan: ({ store }) => store.plan('complete', rejecting),
    status: 200,
    outcome: 'handled',
    store: ['claim', 'complete', 'complete'],
  },
  {
    situation: 'somebody else has the event when the handlers have succeeded',
    plan: ({ store }) => store.plan('complete', saying(false)),
    status: 503,
    outcome: 'failed',
    code: 'lease_lost',
    store: ['claim', 'complete'],
  },
  {
    situation: 'secrets function throws',
    options: { secret: fail },
    status: 503,
    outcome: 'failed',
    code: 'secrets_unavailable',
    store: [],
  },
  {
    situation: 'secrets function hangs',
    options: { secret: forEver },
    status: 503,
    outcome: 'failed',
    code: 'secrets_unavailable',
    store: [],
  },
  {
    situation: 'secrets function gives an empty secret',
    options: { secret: () => '' },
    status: 503,
    outcome: 'failed',
    code: 'secrets_unavailable',
    store: [],
  },
  { situation: 'shutting down', plan: ({ receiver }) => receiver.close(), status: 503, outcome: 'closing', store: [] },
  {
    situation: 'more than maxInFlight under way',
    options: { maxInFlight: 1 },
    plan: async (bench) => {
      bench.receiver.on('sync.completed', forEver)
      bench.receiver.dispatch(events.syncCompleted())
      await bench.clock.advance(0)
      bench.store.calls.length = bench.outcomes.length = 0
    },
    status: 503,
    outcome: 'overloaded',
    store: ['renew'],
  },
  {
    situation: 'body was consumed by the app',
    request: unread('body_consumed'),
    status: 500,
    outcome: 'error',
    code: 'body_consumed',
    store: [],
  },
]

describe('the table of answers', () => {
  it.each(rows.map((row) => [row.situation, row] as const))('%s', async (_situation, row) => {
    const bench = new Bench(row.options)
    let ran = 0
    const handler = row.handler ?? (() => {})
    if (handler !== 'none')
      bench.receiver.on('contact.created', () => {
        ran++
        return handler()
      })
    await row.plan?.(bench)
    const replying = bench.receiver.handle(request(row.body ?? event(), row.request))
    await bench.clock.advance(8_000)
    const reply = await replying
    const outcome = bench.outcomes.find(({ type }) => type !== 'sync.completed')
    expect(outcome).toMatchObject({ status: row.status, outcome: row.outcome, ...(row.code && { code: row.code }) })
    expect(reply.status).toBe(row.status)
    expect(JSON.parse(reply.body)).toMatchObject({
      code: row.status === 401 ? 'unauthorized' : (row.code ?? row.outcome),
    })
    expect(bench.store.calls.map(({ method }) => method)).toEqual(row.store)
    expect(ran).toBe(/handler threw|still running|succeeded/.test(row.situation) ? 1 : 0)
    await bench.clock.advance(100_000)
    await bench.expectAtRest()
  })
})

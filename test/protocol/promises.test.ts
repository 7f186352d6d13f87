import { EventEmitter } from 'node:events'
import { Readable } from 'node:stream'
import { of, Subject } from 'rxjs'
import { expect, it } from 'vitest'
import { explainReturned, ignoreRejection, refuseUnfinished } from '../../src/protocol/promises.ts'

const ignore = () => {}

it('refuseUnfinished names the function that returned a list of promises, and what to return', () => {
  expect(() => refuseUnfinished([1, Promise.resolve()])).toThrow('The handler returned a list of promises')
  expect(() => refuseUnfinished([Promise.resolve()], 'The work')).toThrow(
    'The work returned a list of promises, which nobody waits for: return Promise.all(list).',
  )
})

it.each<[string, unknown]>([
  ['fetch', new Response('', { status: 502 })],
  ['several calls', [new Response(), new Response('', { status: 502 })]],
  ['undici', { statusCode: 502, headers: {}, body: {} }],
  ['axios', { status: 502, statusText: 'Bad Gateway', headers: {}, data: '' }],
  ['Supabase', { data: null, error: {}, status: 502, statusText: 'Bad Gateway' }],
  ['the handler', { status: 502 }],
  ['the handler, for Lambda', { statusCode: 502 }],
  ['the handler, with a reason', { ok: false, status: 502, error: 'no' }],
  ['the handler, in a list', [{ status: 200 }, { status: 502, message: 'no' }]],
])('refuseUnfinished refuses a response of %s that says that the call failed', (_client, response) => {
  expect(() => refuseUnfinished(response)).toThrow('returned a response of HTTP 502')
})

it.each<[string, Promise<unknown>]>([
  ['a list', Promise.allSettled([1, Promise.reject(new Error('no'))])],
  ['one result', Promise.allSettled([Promise.reject(new Error('no'))]).then(([first]) => first)],
])(
  'refuseUnfinished throws the reason of a rejection that Promise.allSettled returned, in %s',
  async (_what, results) => {
    const thrown = await results.then((value) => refuseUnfinished(value)).catch((error: unknown) => error)
    expect(thrown).toMatchObject({ message: 'no' })
    expect(explainReturned([thrown])).toBe(
      ' Its error was returned, and counts as thrown: use Promise.all, not Promise.allSettled.',
    )
    await expect(Promise.allSettled([Promise.reject()]).then((value) => refuseUnfinished(value))).rejects.toThrow(
      'without a reason',
    )
  },
)

const wait = async () => {}
function* save() {
  yield wait()
}
async function* saveAsync() {
  await wait()
  yield 1
}
const compiled = {
  next: () => ({}),
  throw: () => ({}),
  [Symbol.iterator]() {
    return this
  },
}
/** As mocks that answer every property by a function. */
const mock = new Proxy({}, { get: (_target, name) => (name === 'then' ? undefined : ignore) })
const lazily = (value: Iterator<unknown>) =>
  'map' in value ? (value as { map(f: unknown): unknown }).map(wait) : save()

it.each<[string, () => unknown, string]>([
  ['a generator', save, 'a generator'],
  ['an async generator', saveAsync, 'a generator'],
  ['a generator of a compiler', () => compiled, 'a generator'],
  ['a list of generators', () => [1, 2].map(save), 'a list: its first unfinished part is a generator'],
  ['a lazy iterator of promises', () => lazily([1].values()), 'a generator or a lazy iterator'],
  ['a list of lists of promises', () => [[[wait()]], []], 'a list of promises'],
  ['an Effect', () => ({ [Symbol.for('effect/Effect')]: {} }), 'an Effect'],
  ['a set of promises', () => new Set([wait()]), 'a list of promises'],
  ['a map of promises', () => new Map([[1, wait()]]), 'a list of promises'],
  ['an iterator of promises', () => [wait()].values(), 'a list of promises'],
  ['an object of promises', () => ({ crm: wait(), mail: wait() }), 'a list of promises'],
])('refuseUnfinished refuses %s, of which nothing runs or is awaited', (_what, make, why) => {
  expect(() => refuseUnfinished(make())).toThrow(`The handler returned ${why}`)
})

it.each<[string, unknown]>([
  ['a list', [1, [2], { next: 'page' }]],
  ['bytes', Buffer.from('a')],
  ['an iterator of values', new Map([[1, 2]]).entries()],
  ['a response of fetch, whose body is iterable', new Response('done')],
  ['a record with a status', { _id: 'a', status: 502 }],
  ['a record with a status that is none of HTTP', { status: 4 }],
  ['a record that was rejected', { _id: 'a', status: 'rejected', reason: 'no' }],
  ['a decision', { status: 'rejected', reason: 'no' }],
  ['a decision among records', [{ status: 'rejected', reason: 'no' }, { status: 'open' }]],
  ['a response that is ok', { status: 204 }],
  ['results that were fulfilled', [{ status: 'fulfilled', value: 1 }]],
  ['a web stream', new Blob(['a']).stream()],
  ['a stream', Readable.from(['a'])],
  ['an emitter', new EventEmitter()],
  ['a running cursor', Object.assign(Readable.from([]), { next: wait })],
  // biome-ignore lint/suspicious/noThenProperty: query builders do so
  ['a query, which is awaited', { then: ignore, next: ignore, throw: ignore, [Symbol.asyncIterator]: saveAsync }],
  ['a document with fields of these names', { next: 1, throw: 'ball', return: '2025-01-01' }],
  ['an entity with a lazy relation', { _id: 'a', owner: Promise.resolve() }],
  ['an empty object', {}],
  ['a linked list', { next: () => undefined }],
  ['a mock', mock],
])('refuseUnfinished returns %s', (_what, value) => {
  expect(refuseUnfinished(value)).toBe(value)
})

it('refuseUnfinished returns rows with few columns to an app that uses them', () => {
  for (const row of [{ status: 502 }, { status: 'rejected', reason: 'no money' }])
    expect(refuseUnfinished(row, 'The work', true)).toBe(row)
})

it('refuseUnfinished refuses an Observable, and says what to return', () => {
  expect(() => refuseUnfinished(of(1))).toThrow('The handler returned an Observable, which nobody subscribes to')
  expect(() => refuseUnfinished(new Subject())).toThrow('return lastValueFrom(it, { defaultValue: undefined })')
})

it('leaves query builders alone, which begin their query when they are awaited', () => {
  let runs = 0
  const query = Object.defineProperty({}, 'then', { value: () => runs++ })
  class Query extends Promise<void> {
    // biome-ignore lint/suspicious/noThenProperty: drivers of databases do so
    override then(): never {
      runs++
      throw new Error('begun')
    }
  }
  ignoreRejection(query)
  ignoreRejection(new Query(() => {}))
  expect(() => refuseUnfinished([query])).toThrow('a list of promises')
  expect(runs).toBe(0)
})

import { ServiceError } from 'postern/client'
import { describe, expect, it } from 'vitest'
import { clientOf, collect, failureOf, type Reply, type Seen, serve } from './support.ts'

const idsOf = (list: readonly { readonly id: string }[]) => list.map(({ id }) => id)
const make = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => ({ _id: `c${from + index}`, email: 'z@example.test' }))
const pageOf = (seen: Seen, size: number) => {
  const page = Number(seen.query.get('page') ?? '1')
  return make(1, 7).slice((page - 1) * size, page * size)
}
/** Serves a list on two pages with these fields beside it; the second is asked for by this parameter. */
const inTwo =
  (name: string, value: string, first: object, last: object) =>
  ({ query }: Seen) => ({
    body: query.get(name) === value ? { data: make(5, 7), ...last } : { data: make(1, 4), ...first },
  })
const ALL = idsOf(make(1, 7).map(({ _id }) => ({ id: _id })))

describe('contacts', () => {
  it.each<[string, (seen: Seen, count: number) => Reply, number]>([
    ['a bare list on one page; the question for another is ignored', () => ({ body: make(1, 7) }), 2],
    [
      'a bare list on one page; the question for another is refused',
      ({ query }) => (query.has('page') ? { status: 400 } : { body: make(1, 7) }),
      2,
    ],
    ['a bare list on one page; another is empty', ({ query }) => ({ body: query.has('page') ? [] : make(1, 7) }), 2],
    ['numbered pages without marks', (seen) => ({ body: pageOf(seen, 3) }), 4],
    ['a name of its own', () => ({ body: { total: 7, people: make(1, 7) } }), 1],
    ['a list of errors beside it', () => ({ body: { errors: [], contacts: make(1, 7), hasMore: false } }), 1],
    ['one level down, beside a list of errors', () => ({ body: { errors: [], data: { people: make(1, 7) } } }), 2],
    [
      'its name one level down, beside lists of other names',
      () => ({ body: { errors: [], data: { tags: ['a'], contacts: make(1, 7), hasMore: false } } }),
      1,
    ],
    ['a cursor', inTwo('cursor', 'abc', { nextCursor: 'abc' }, { nextCursor: null }), 2],
    ['a cursor among meta', inTwo('cursor', 'abc', { meta: { next: 'abc' } }, { meta: { next: null } }), 2],
    ['the number of the next page', inTwo('page', '2', { nextPage: 2 }, { nextPage: null }), 2],
    ['the address of the next page', inTwo('from', '4', { next: '/elsewhere?from=4' }, { next: null }), 2],
    [
      'a Link header',
      ({ query }) =>
        query.get('from') === '4'
          ? { body: make(5, 7), headers: { link: '</x?from=1>; rel="prev"' } }
          : { body: make(1, 4), headers: { link: '<https://elsewhere.test/x?from=4>; rel="next"' } },
      3,
    ],
    [
      'the same cursor for ever',
      ({ query }) => ({ body: { data: query.has('cursor') ? make(5, 7) : make(1, 4), next: 'abc' } }),
      3,
    ],
    [
      'pages that overlap, since the list grew',
      ({ query }) => ({
        body: { data: query.has('cursor') ? make(3, 7) : make(1, 4), next: query.has('cursor') ? null : 'x' },
      }),
      2,
    ],
    [
      'a page that new entries pushed, since it names a next one',
      (_, count) => ({
        body: { data: [make(1, 4), make(1, 4), make(3, 7)][count - 1], nextPage: [2, 3, null][count - 1] },
      }),
      3,
    ],
    [
      'two pages in turn for ever',
      ({ query }) => ({
        body: query.get('cursor') === 'b' ? { data: make(5, 7), next: 'a' } : { data: make(1, 4), next: 'b' },
      }),
      3,
    ],
    [
      'one entry twice, and one without an id',
      () => ({ body: { data: [...make(1, 7), ...make(7, 7), { email: 'x' }, null], hasMore: false } }),
      1,
    ],
  ])('are read completely: %s', async (_form, answer, requests) => {
    const service = await serve(answer)
    expect(idsOf(await collect(clientOf(service).contacts()))).toEqual(ALL)
    expect(service.calls).toEqual(Array.from({ length: requests }, () => 'GET /api/sales/contacts'))
  })

  it.each<[object, Record<string, string> | 'end']>([
    [{ nextCursor: 5 }, { cursor: '5' }],
    [{ nextPage: '12' }, { page: '12' }],
    [{ nextPage: 'b12' }, { cursor: 'b12' }],
    [{ next: '12' }, { cursor: '12' }],
    [{ next: 'a/b?from=4' }, { cursor: 'a/b?from=4' }],
    [{ next: 'http://elsewhere.test/?from=4' }, { from: '4' }],
    [{ next: false }, 'end'],
    [{ next: '' }, 'end'],
    // Answers without this information: then the page is guessed.
    [{ next: true }, { page: '2' }],
    [{ next: '/elsewhere' }, { page: '2' }],
    [{ total: '2' }, { page: '2' }],
  ])('are continued after %j at %j', async (marks, next) => {
    const service = await serve((_, count) => ({ body: count === 1 ? { data: make(1, 4), ...marks } : [] }))
    await collect(clientOf(service).contacts())
    expect(service.seen.slice(2).map(({ query }) => Object.fromEntries(query))).toEqual(next === 'end' ? [] : [next])
  })

  it.each([
    '</x?from=4>; rel="next"',
    '</x?from=4>;rel=next',
    '</x?from=4>; title=more; rel=next',
    '</x?from=1>; rel="prev", </x?from=4>; rel="next"',
  ])('are continued after the header Link: %s', async (link) => {
    const service = await serve((_, count) => (count === 1 ? { body: make(1, 4), headers: { link } } : { body: [] }))
    await collect(clientOf(service).contacts())
    expect(service.seen.at(-1)?.query.get('from')).toBe('4')
  })

  it('keep the valid entries, and leave out those of a wrong type', async () => {
    const { _id: id, ...fields } = { _id: 'c1', firstName: 'Zoë', lastName: 'Z', email: 'z@a.test', status: 'active' }
    const raw = { _id: 7, id: 'other', firstName: null, lastName: 5, email: 'z@example.test', more: { a: 1 } }
    const service = await serve(() => ({ body: { data: [{ _id: id, ...fields }, raw], hasMore: false } }))
    expect(await collect(clientOf(service).contacts())).toEqual([
      { id, ...fields, raw: { _id: id, ...fields } },
      { id: '7', firstName: undefined, lastName: undefined, email: 'z@example.test', status: undefined, raw },
    ])
  })

  it('are requested only as far as they are read', async () => {
    const service = await serve((_, count) => ({
      body: { data: make(count * 10, count * 10 + 9), next: `n${count}` },
    }))
    const read: string[] = []
    for await (const { id } of clientOf(service).contacts()) {
      read.push(id)
      if (read.length === 15) break
    }
    expect(service.calls).toHaveLength(2)
  })

  it.each<[string, unknown]>([
    ['no list', { message: 'hello' }],
    ['nothing', undefined],
    ['null', null],
    ['a list of numbers', [1, 2]],
    ['a list of objects without ids', [{}, { _id: '' }, { _id: {} }]],
  ])('are not read from %s', async (_what, body) => {
    const service = await serve(() => ({ body }))
    const error = await failureOf(collect(clientOf(service).contacts()))
    expect(error).toBeInstanceOf(ServiceError)
    expect(error).toMatchObject({
      code: 'answer_unusable',
      status: 200,
      route: 'GET /api/sales/contacts',
      body: undefined,
    })
  })
})

it('webhooks are listed page by page', async () => {
  const service = await serve((seen) => {
    const page = pageOf(seen, 3)
    return { body: page.length === 0 ? [] : [{ url: 'https://app.example.test' }, ...page] } // the first one has no id
  })
  expect(idsOf(await clientOf(service).webhooks.list())).toEqual(ALL)
  expect(service.calls).toEqual(Array.from({ length: 4 }, () => 'GET /api/integrations/webhooks'))
})

describe('the delivery log', () => {
  it('is continued by its last entry', async () => {
    const service = await serve(({ query }) => {
      const before = query.get('before')
      const log = make(1, 7).toReversed()
      const start = before === null ? 0 : log.findIndex(({ _id }) => _id === before) + 1
      return { body: log.slice(start, start + 3).map(({ _id }) => ({ _id, status: 'success' })) }
    })
    expect(idsOf(await collect(clientOf(service).deliveries('w1')))).toEqual(ALL.toReversed())
    expect(service.calls).toEqual(Array.from({ length: 4 }, () => 'GET /api/integrations/webhooks/w1/deliveries'))
  })

  it('is continued by number if the service does not understand that', async () => {
    const service = await serve((seen) => ({ body: pageOf(seen, 4).map(({ _id }) => ({ _id, status: 'success' })) }))
    expect(idsOf(await collect(clientOf(service).deliveries('w1')))).toEqual(ALL)
  })

  it.each([
    ['pending', 'pending'],
    ['QUEUED', 'pending'],
    ['in_progress', 'pending'],
    ['success', 'succeeded'],
    ['DELIVERED', 'succeeded'],
    ['failed', 'failed'],
    ['zorp', 'unknown'],
    ['', 'unknown'],
    [undefined, 'unknown'],
    [3, 'unknown'],
  ])('calls the state %j %s', async (status, state) => {
    const service = await serve(() => ({ body: { data: [{ _id: 'd1', status }], hasMore: false } }))
    const [delivery] = await collect(clientOf(service).deliveries('w1'))
    expect(delivery).toMatchObject({ state, status: String(status ?? '') })
  })

  it.each<[string, object, object]>([
    [
      'all fields',
      {
        eventId: 'e1',
        eventType: 'contact.created',
        attempts: 2,
        createdAt: '2025-01-01T00:00:00Z',
        lastAttemptAt: '2025-01-01T00:00:01Z',
        nextAttemptAt: '2025-01-01T00:00:31Z',
        responseStatus: 500,
        error: 'it is down',
      },
      {
        eventId: 'e1',
        eventType: 'contact.created',
        attempts: 2,
        createdAt: new Date('2025-01-01T00:00:00Z'),
        lastAttemptAt: new Date('2025-01-01T00:00:01Z'),
        nextAttemptAt: new Date('2025-01-01T00:00:31Z'),
        responseStatus: 500,
        error: 'it is down',
      },
    ],
    [
      'null for what there is not, which is not 0',
      { attempts: null, responseStatus: null, eventId: null, createdAt: null },
      { attempts: undefined, responseStatus: undefined, eventId: undefined, createdAt: undefined },
    ],
    ['a count as text', { attempts: '2', responseStatus: '' }, { attempts: 2, responseStatus: undefined }],
    [
      'an embedded event',
      { event: { id: 'e1', type: 'contact.created' } },
      { eventId: 'e1', eventType: 'contact.created' },
    ],
    ['the type alone as the event', { event: 'contact.created' }, { eventId: undefined, eventType: 'contact.created' }],
    ['an embedded event with an id only', { event: { id: 7 } }, { eventId: '7', eventType: undefined }],
    [
      'type, and times in milliseconds',
      { type: 'contact.created', createdAt: 1735689600000 },
      { eventType: 'contact.created', createdAt: new Date('2025-01-01T00:00:00Z') },
    ],
    [
      'attempts as a list, and times in seconds',
      { attempts: [{}, {}], createdAt: 1735689600 },
      { attempts: 2, createdAt: new Date('2025-01-01T00:00:00Z') },
    ],
    [
      'wrong types',
      { eventId: {}, eventType: 5, attempts: 'many', createdAt: 'soon', event: 7, error: { a: 1 } },
      { eventId: undefined, eventType: undefined, attempts: undefined, createdAt: undefined, error: undefined },
    ],
  ])('accepts %s', async (_what, fields, expected) => {
    const raw = { id: 'd1', status: 'failed', ...fields }
    const service = await serve(() => ({ body: { data: [raw], hasMore: false } }))
    expect(await collect(clientOf(service).deliveries('w1'))).toMatchObject([{ id: 'd1', raw, ...expected }])
  })
})

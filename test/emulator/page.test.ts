import { Hono } from 'hono'
import { describe, expect, it } from 'vitest'
import { type Paging, pageOf } from '../../src/emulator/http/page.ts'
import { Refusal } from '../../src/emulator/refusal.ts'

const ALL = Array.from({ length: 25 }, (_, index) => ({ id: `i${index}` }))

/** The page that a query asks for: the items from and to, or the message of the refusal. */
async function read(style: Paging['style'], query = '', all: readonly object[] = ALL) {
  const app = new Hono()
  app.get('/', (c) => c.json(pageOf(c, all, { style, limit: 10 }, (item) => [item])))
  app.onError((error, c) => c.text(error instanceof Refusal ? `${error.kind} ${error.message}` : 'failed', 422))
  const response = await app.request(`/${query}`)
  if (!response.ok) return await response.text()
  const { items, ...rest } = Object(await response.json())
  return { items: items.map(([item]: readonly [{ id: string }]) => item.id).join(), ...rest }
}

const idsOf = (...numbers: readonly number[]) => numbers.map((number) => `i${number}`).join()
const from = (first: number, last: number) => idsOf(...Array.from({ length: last - first + 1 }, (_, at) => first + at))

describe('a list', () => {
  it('without pages is whole, whatever the query says', async () => {
    const whole = { items: from(0, 24), total: 25, page: 1 }
    for (const query of ['', '?limit=3&page=2&cursor=4&before=i3', '?limit=no'])
      expect(await read('none', query)).toEqual(whole)
  })

  it.each([
    ['', from(0, 9), 1],
    ['?page=1', from(0, 9), 1],
    ['?page=3', from(20, 24), 3],
    ['?page=4', '', 4],
    ['?page=2&limit=7', from(7, 13), 2],
    ['?limit=1', idsOf(0), 1],
    ['?limit=11', from(0, 9), 1],
    ['?page=999999999', '', 999_999_999],
    ['?cursor=5&before=i4', from(0, 9), 1],
  ])('in numbered pages: %s', async (query, items, page) => {
    expect(await read('pages', query)).toEqual({ items, total: 25, page })
  })

  it.each([
    ['', from(0, 9), '10'],
    ['?cursor=0', from(0, 9), '10'],
    ['?cursor=10', from(10, 19), '20'],
    ['?cursor=20', from(20, 24), undefined],
    ['?cursor=15', from(15, 24), undefined],
    ['?cursor=14', from(14, 23), '24'],
    ['?cursor=999999999', '', undefined],
    ['?limit=2&cursor=3', from(3, 4), '5'],
    ['?page=2', from(0, 9), '10'],
  ])('with a cursor to the next part: %s', async (query, items, nextCursor) => {
    expect(await read('cursor', query)).toEqual({ items, total: 25, page: 1, ...(nextCursor && { nextCursor }) })
  })

  it.each([
    ['', [24, 23, 22, 21, 20, 19, 18, 17, 16, 15]],
    ['?before=i15', [14, 13, 12, 11, 10, 9, 8, 7, 6, 5]],
    ['?before=i3', [2, 1, 0]],
    ['?before=i0', []],
    ['?limit=2', [24, 23]],
    ['?limit=2&before=i9&page=5', [8, 7]],
  ] as const)('with the newest first, before an entry: %s', async (query, numbers) => {
    expect(await read('before', query)).toEqual({ items: idsOf(...numbers), total: 25, page: 1 })
  })

  it('of items without an id has none before any', async () => {
    expect(await read('before', '?before=undefined', [{ name: 'x' }])).toContain('there is no such entry')
  })

  it.each([
    ['before', '?before=x', 'invalid before: '],
    ['before', '?limit=0', 'invalid limit: '],
    ['pages', '?page=0', 'invalid page: '],
    ['pages', '?page=-1', 'invalid page: '],
    ['pages', '?page=01', 'invalid page: '],
    ['pages', '?page=1.5', 'invalid page: '],
    ['pages', '?page=1x', 'invalid page: '],
    ['pages', '?page=x1', 'invalid page: '],
    ['pages', '?page=1234567890', 'invalid page: '],
    ['pages', '?page=', 'invalid page: '],
    ['pages', '?limit=all', 'invalid limit: '],
    ['cursor', '?limit=', 'invalid limit: '],
    ['cursor', '?cursor=-1', 'invalid cursor: '],
    ['cursor', '?cursor=', 'invalid cursor: '],
    ['cursor', '?cursor=1x', 'invalid cursor: '],
    ['cursor', '?cursor=x1', 'invalid cursor: '],
    ['cursor', '?cursor=1234567890', 'invalid cursor: '],
  ] as const)('of the style %s refuses %s', async (style, query, told) => {
    const answer = await read(style, query)
    expect(String(answer).slice(0, told.length)).toBe(told)
  })
})

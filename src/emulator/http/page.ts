import type { Context } from 'hono'
import type { Json, Page } from '../answers.ts'
import { Refusal } from '../refusal.ts'

export interface Paging {
  /** Style of the pages. `before`: the newest first, starting after the entry of a given id. */
  readonly style: 'none' | 'pages' | 'cursor' | 'before'
  /** Maximum number of items on a page; a request may ask for fewer. */
  readonly limit: number
}

/** Returns the part of a list that a request asks for. */
export function pageOf<Item extends object>(
  context: Context,
  all: readonly Item[],
  { style, limit: most }: Paging,
  show: (item: Item) => Json,
): Page {
  const total = all.length
  if (style === 'none') return { items: all.map(show), total, page: 1, nextCursor: undefined }
  const limit = Math.min(most, readNumber(context, 'limit') ?? most)
  if (style === 'before') {
    const before = context.req.query('before')
    const end = before === undefined ? total : all.findIndex((item) => 'id' in item && item.id === before)
    if (end < 0) throw new Refusal('invalid', 'before: there is no such entry in this log')
    const newestFirst = all.slice(Math.max(0, end - limit), end).toReversed()
    return { items: newestFirst.map(show), total, page: 1, nextCursor: undefined }
  }
  const page = readNumber(context, 'page') ?? 1
  const start = style === 'pages' ? (page - 1) * limit : readCursor(context)
  const end = start + limit
  return {
    items: all.slice(start, end).map(show),
    total,
    page: style === 'pages' ? page : 1,
    nextCursor: style === 'cursor' && end < total ? String(end) : undefined,
  }
}

function readCursor(context: Context): number {
  const text = context.req.query('cursor') ?? '0'
  if (!/^\d{1,9}$/.test(text)) throw new Refusal('invalid', 'cursor: there is no such mark')
  return Number(text)
}

function readNumber(context: Context, name: string): number | undefined {
  const text = context.req.query(name)
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new Refusal('invalid', `${name}: must be a whole number from 1`)
  return Number(text)
}

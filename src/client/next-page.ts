import { type Entry, isEntry, own } from './find-entry.ts'

export type Query = Readonly<Record<string, string>>

/** Next page of a list: a query, `'end'`, or undefined if the answer does not say. */
export type NextPage = Query | 'end' | undefined

/** Objects in which services put pagination fields. */
const PLACES = ['meta', 'pagination', 'paging', 'pageInfo', 'links', '_links', 'page']
const MORE = ['hasMore', 'has_more', 'hasNextPage', 'has_next_page', 'hasNext']
const NEXT = ['next', 'nextPage', 'next_page', 'nextCursor', 'next_cursor', 'endCursor', 'cursor']
const PAGES = ['pages', 'totalPages', 'total_pages', 'pageCount', 'lastPage']
const TOTALS = ['total', 'totalCount', 'total_count', 'totalDocs']

/**
 * Reads the pagination fields that services put beside a list (assumptions A04, A08, A11). Uses only the query of a URL: no answer can
 * send the credentials to another host.
 *
 * @param around the objects that enclose the list
 * @param page number of the page that was read, from 1
 * @param count number of entries read so far
 */
export function findNextPage(around: readonly Entry[], headers: Headers, page: number, count: number): NextPage {
  const link = /<([^>]*)>\s*;[^,]*\brel="?next"?/i.exec(headers.get('link') ?? '')?.[1]
  if (link !== undefined) return queryOf(link)
  const places = around.flatMap((entry) => [entry, ...PLACES.map((name) => own(entry, name)).filter(isEntry)])
  const find = (names: readonly string[]) => {
    for (const place of places)
      for (const name of names)
        if (Object.hasOwn(place, name) && !isEntry(place[name])) return { name, value: place[name] }
    return undefined
  }
  if (find(MORE)?.value === false) return 'end'
  const next = find(NEXT)
  if (next !== undefined) return toQuery(next.name, next.value)
  const pages = find(PAGES)?.value
  if (typeof pages === 'number') return page < pages ? { page: String(page + 1) } : 'end'
  const total = find(TOTALS)?.value
  return typeof total === 'number' && count >= total ? 'end' : undefined
}

function toQuery(name: string, value: unknown): NextPage {
  if (value === null || value === false || value === '') return 'end'
  if (typeof value === 'number') return /cursor/i.test(name) ? { cursor: String(value) } : { page: String(value) }
  if (typeof value !== 'string') return undefined
  if (/^(https?:\/\/|\/|\?)/.test(value)) return queryOf(value)
  return /page/i.test(name) && /^\d+$/.test(value) ? { page: value } : { cursor: value }
}

function queryOf(address: string): NextPage {
  const base = 'http://localhost'
  if (!URL.canParse(address, base)) return undefined
  const query = Object.fromEntries(new URL(address, base).searchParams)
  return Object.keys(query).length === 0 ? undefined : query
}

import { isObject } from '../protocol/envelope.ts'
import { type Entry, findList } from './records.ts'
import { hasCode } from './service-error.ts'
import type { Send } from './transport.ts'

/** Query parameter to try if an answer does not name the next page: each is tried until the service understands one. */
type Guess = 'before' | 'page'

type Query = Readonly<Record<string, string>>

/**
 * Reads a list page by page, whatever its form, until a page is empty, says that it is the last, or holds only known entries and names no
 * further page. Yields an entry once even if it is on two pages because the list grew in the meantime.
 *
 * @param guesses parameters to try, in this order, if the list has no pagination fields
 * @throws ServiceError `answer_unusable` if there is no list, or no entry has an id
 */
export async function* readPages<T extends { readonly id: string }>(
  send: Send,
  path: readonly string[],
  toRecord: (item: unknown) => T | undefined,
  guesses: readonly Guess[],
  signal: AbortSignal | undefined,
): AsyncGenerator<T, void, undefined> {
  const ask = (query: Query) => send({ method: 'GET', path, query, isRepeatable: true, signal })
  const seen = new Set<string>()
  const asked = new Set<string>()
  const untried = [...guesses]
  let answer = await ask({})
  for (let page = 1; ; ) {
    const list = findList(answer.body)
    if (list === undefined) throw answer.unusable('there is no list in it')
    if (list.items.length === 0) return
    const records = list.items.map(toRecord).filter((record) => record !== undefined)
    const last = records.at(-1)?.id
    if (last === undefined) throw answer.unusable('nothing in its list has an id')
    const known = seen.size
    for (const record of records) {
      if (seen.has(record.id)) continue
      seen.add(record.id)
      yield record
    }
    const isNew = seen.size > known
    const next = findNextPage(list.around, answer.headers, page, seen.size)
    if (isNew || next !== undefined) page++
    else untried.shift() // the service does not understand the guess, and repeats itself
    const query = next ?? guessPage(untried[0], last, page)
    // New entries push known ones onto a further page.
    if (query === undefined || query === 'end' || (!isNew && asked.has(JSON.stringify(query)))) return
    asked.add(JSON.stringify(query))
    try {
      answer = await ask(query)
    } catch (error) {
      // A service may refuse a parameter that it does not document: the next one is tried after the same page.
      if (next !== undefined || !hasCode(error, 'request_refused', 'not_found')) throw error
    }
  }
}

function guessPage(guess: Guess | undefined, last: string, page: number): Query | undefined {
  if (guess === 'before') return { before: last }
  return guess && { page: String(page) }
}

/** Next page of a list: a query, `'end'`, or undefined if the answer does not say. */
type NextPage = Query | 'end' | undefined

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
function findNextPage(around: readonly Entry[], headers: Headers, page: number, count: number): NextPage {
  const link = /<([^>]*)>\s*;[^,]*\brel="?next"?/i.exec(headers.get('link') ?? '')?.[1]
  if (link !== undefined) return queryOf(link)
  const places = around.flatMap((entry) => [entry, ...PLACES.map((name) => entry[name]).filter(isObject)])
  const find = (names: readonly string[]) => {
    for (const place of places)
      for (const name of names)
        if (place[name] !== undefined && !isObject(place[name])) return { name, value: place[name] }
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

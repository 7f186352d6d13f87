import { isObject } from '../protocol/envelope.ts'
import { type Entry, findList } from './records.ts'
import { hasCode } from './service-error.ts'
import type { Answer } from './transport.ts'

/** Query parameter to try if an answer does not name the next page: each is tried until the service understands one. */
export type Guess = 'before' | 'page'

type Query = Readonly<Record<string, string>>

/**
 * Reads a list page by page, whatever its form, until a page is empty, says that it is the last, or holds only known entries and names no
 * further page. Yields an entry once even if it is on two pages because the list grew in the meantime.
 *
 * @param guesses parameters to try, in this order, while the list does not name its next page
 * @throws ServiceError `answer_unusable` if there is no list, or no entry has an id
 */
export async function* readPages<T extends { readonly id: string }>(
  ask: (query: Query) => Promise<Answer>,
  toRecord: (item: unknown) => T | undefined,
  guesses: readonly Guess[],
): AsyncGenerator<T, void, undefined> {
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
    const next = findNextPage(list.around)
    if (isNew) page++
    else if (next === undefined) untried.shift() // the service does not understand the guess, and repeats itself
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

/** Objects in which services put the next page. */
const PLACES = ['meta', 'pagination', 'paging', 'pageInfo', 'links', '_links']
const NEXT = ['next', 'nextPage', 'next_page', 'nextCursor', 'next_cursor', 'cursor']

/**
 * Reads the next page that services name beside a list (assumptions A04, A08, A11). Uses only the query of a URL: no answer can
 * send the credentials to another host.
 *
 * @param around the objects that enclose the list
 */
function findNextPage(around: readonly Entry[]): NextPage {
  const places = around.flatMap((entry) => [entry, ...PLACES.map((name) => entry[name]).filter(isObject)])
  for (const place of places) {
    const name = NEXT.find((each) => place[each] !== undefined)
    if (name !== undefined) return toQuery(name, place[name])
  }
  return undefined
}

function toQuery(name: string, value: unknown): NextPage {
  if (value === null || value === false || value === '') return 'end'
  if (typeof value !== 'number' && typeof value !== 'string') return undefined
  const text = String(value)
  if (/^(https?:\/\/|\/|\?)/.test(text)) return queryOf(text)
  const isNumber = /^\d+$/.test(text) && (/page/i.test(name) || (typeof value === 'number' && !/cursor/i.test(name)))
  return isNumber ? { page: text } : { cursor: text }
}

function queryOf(address: string): NextPage {
  const base = 'http://localhost'
  if (!URL.canParse(address, base)) return undefined
  const query = Object.fromEntries(new URL(address, base).searchParams)
  return Object.keys(query).length === 0 ? undefined : query
}

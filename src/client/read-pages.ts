import { findList, isEntry } from './find-entry.ts'
import { findNextPage, type Query } from './next-page.ts'
import { idOf } from './records.ts'
import { hasCode } from './service-error.ts'
import type { Answer } from './transport.ts'

/** Limit of entries in a list, far above any real one, for a service whose pages never end. */
export const MAX_ENTRIES = 5_000_000

/** Query parameter to try if an answer does not name the next page: each is tried until the service understands one. */
export type Guess = 'before' | 'page'

interface Identified {
  readonly id: string
}

/**
 * Reads a list page by page, whatever its form, until a page is empty, says that it is the last, or holds only known entries. Yields
 * an entry once even if it is on two pages because the list grew in the meantime.
 *
 * @param guesses parameters to try, in this order, if the list has no pagination fields
 * @param most limit that the number of entries stays below
 * @throws ServiceError `answer_unusable` if there is no list, no entry has an id, or the pages never end
 */
export async function* readPages<T extends Identified>(
  ask: (query: Query) => Promise<Answer>,
  toRecord: (item: unknown) => T | undefined,
  guesses: readonly Guess[],
  most = MAX_ENTRIES,
): AsyncGenerator<T, void, undefined> {
  const seen = new Set<string>()
  let answer = await ask({})
  let untried = guesses
  for (let page = 1; seen.size < most; page++) {
    const list = findList(answer.body)
    if (list === undefined) throw answer.unusable('there is no list in it')
    const records = list.items.map(toRecord).filter((record) => record !== undefined)
    if (records.length === 0 && list.items.length > 0) throw answer.unusable('nothing in its list has an id')
    const fresh = records.filter(({ id }) => !seen.has(id))
    for (const record of fresh) {
      if (seen.has(record.id)) continue // same entry twice on one page
      seen.add(record.id)
      yield record
    }
    if (fresh.length === 0) return
    const next = findNextPage(list.around, answer.headers, page, seen.size)
    if (next === 'end') return
    if (next === undefined) {
      const guessed: Guessed | undefined = await tryGuesses(ask, untried, seen, records.at(-1)?.id ?? '', page + 1)
      if (guessed === undefined) return
      answer = guessed.answer
      untried = [guessed.guess]
    } else answer = await ask(next)
  }
  throw answer.unusable(`its pages do not end: ${seen.size} entries were read`)
}

interface Guessed {
  readonly guess: Guess
  readonly answer: Answer
}

/** Requests the next page by the first guess that the service understands: its answer has new entries or is empty. */
async function tryGuesses(
  ask: (query: Query) => Promise<Answer>,
  guesses: readonly Guess[],
  seen: ReadonlySet<string>,
  lastId: string,
  page: number,
): Promise<Guessed | undefined> {
  for (const guess of guesses) {
    const answer = await askIfTaken(ask, guess === 'before' ? { before: lastId } : { page: String(page) })
    const items = answer === undefined ? undefined : findList(answer.body)?.items
    if (answer === undefined || items === undefined) continue
    if (items.length === 0) return undefined
    if (items.some((item) => isEntry(item) && !seen.has(idOf(item) ?? ''))) return { guess, answer }
  }
  return undefined
}

/** Sends a guess. If the service refuses the undocumented parameter, there is no next page that we could request. */
async function askIfTaken(ask: (query: Query) => Promise<Answer>, query: Query): Promise<Answer | undefined> {
  try {
    return await ask(query)
  } catch (error) {
    if (hasCode(error, 'request_refused', 'not_found')) return undefined
    throw error
  }
}

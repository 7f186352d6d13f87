import { type InboxState, type ListOptions, MOST_LISTED, OptionChecker } from '../../src/index.ts'

const check = new OptionChecker('inbox.list')
const STATES: readonly InboxState[] = ['waiting', 'running', 'dead']

/**
 * Checks what an inbox is asked to list.
 *
 * @param isPlace whether a text may be `next` of a page of that state
 * @returns `after` empty for the first page
 * @throws ConfigurationError `option_invalid`
 */
export function checkList(
  state: InboxState,
  options: ListOptions,
  isPlace: (after: string) => boolean,
): { readonly limit: number; readonly after: string } {
  if (!STATES.includes(state))
    throw check.invalid(`the state is ${JSON.stringify(state)}; give waiting, running or dead.`)
  check.isObject(options, "'dead', { limit: 100 }")
  const { after, limit = 100 } = options
  check.isWhole('limit', limit, 1, MOST_LISTED)
  if (after === undefined) return { limit, after: '' }
  if (typeof after !== 'string') throw check.invalid('after is no text; give next of the page before.')
  // It would be an empty page, or the first one.
  if (!isPlace(after)) throw check.invalid(`after is ${JSON.stringify(after)}; give next of a page of the same state.`)
  return { limit, after }
}

import { type InboxState, type ListOptions, MOST_LISTED, OptionChecker } from '../../src/index.ts'

const check = new OptionChecker('inbox.list')
const STATES: readonly InboxState[] = ['waiting', 'running', 'dead']

/** Checks the arguments of an inbox's `list`. Returns an empty `after` for the first page. */
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
  if (typeof after !== 'string') throw check.invalid('after is not a string; give next of the previous page.')
  // It would return an empty page, or the first one.
  if (!isPlace(after)) throw check.invalid(`after is ${JSON.stringify(after)}; give next of a page of the same state.`)
  return { limit, after }
}

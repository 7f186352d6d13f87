import { FILLED_TEXT, FLAG, FUNCTION, OptionChecker, withMethods } from '../protocol/option-checker.ts'
import type { Inbox, InboxState, ListedEntry } from './inbox.ts'

/** Options of `dropAll`. */
export type DropAllOptions = {
  /** Account whose events are deleted. */
  readonly accountKey: string
  /** Returns whether events of a type are deleted. Default: all are. */
  readonly isOfType?: ((type: string) => boolean) | undefined
  /** True to count, and delete nothing. */
  readonly dryRun?: boolean | undefined
  /** Called after each page that was read, and each event that was deleted. An error that it throws ends the work. */
  readonly onProgress?: ((progress: DroppedAll) => void) | undefined
}

/** Result of `dropAll`. */
export type DroppedAll = {
  /** Number of events that were read, of all accounts. */
  readonly read: number
  /** Number of events of the account that do not run; with `dryRun`, they would be deleted. */
  readonly found: number
  readonly dropped: number
  /** Number of events of the account that run now, and cannot be deleted: call again when they have ended. */
  readonly running: number
}

/** States in the order in which items move through them: one that moves meanwhile is found in a later one. */
const STATES: readonly InboxState[] = ['waiting', 'running', 'dead']
const PAGE = 100
/** Number of deletions under way at the same time: they share a commit. */
const CONCURRENCY = 50
/** Maximum number of searches: an account whose events keep coming is never empty. */
const MOST_ROUNDS = 10

const check = new OptionChecker('dropAll')

/**
 * Deletes the events of an account from an inbox, whatever their state, as a request for erasure demands. Their handlers never run. Reads the
 * inbox page by page, again until nothing of the account is left that does not run.
 *
 * @throws ConfigurationError `option_invalid`, `option_unknown`
 * @example
 * const { dropped, running } = await dropAll(inbox, { accountKey: 'acme' })
 */
export async function dropAll(inbox: Inbox, options: DropAllOptions): Promise<DroppedAll> {
  check.mustBe('the inbox', inbox, withMethods('list', 'drop'))
  check.mustFit(options, KINDS, ['accountKey'])
  const { dryRun = false, onProgress = () => {} } = options
  const done = { read: 0, found: 0, dropped: 0, running: 0 }
  let emptyRounds = 0
  for (let round = 1; ; round++) {
    const keys = await findAll(inbox, options, done, () => onProgress({ ...done }))
    if (dryRun) return done
    for (let from = 0; from < keys.length; from += CONCURRENCY) {
      const isDropped = await Promise.all(keys.slice(from, from + CONCURRENCY).map((key) => inbox.drop(key)))
      done.dropped += isDropped.filter((each) => each).length
      onProgress({ ...done })
    }
    // One round may miss an event that runs meanwhile and waits again, or one of a page that moves.
    emptyRounds = keys.length === 0 ? emptyRounds + 1 : 0
    if (emptyRounds === 2 || round === MOST_ROUNDS) return done
  }
}

const KINDS = { accountKey: FILLED_TEXT, isOfType: FUNCTION, dryRun: FLAG, onProgress: FUNCTION }

/** Reads all items, before one is deleted: an engine may number those of a page. */
async function findAll(
  inbox: Inbox,
  { accountKey, isOfType = () => true }: DropAllOptions,
  done: { read: number; found: number; dropped: number; running: number },
  onPage: () => void,
): Promise<readonly string[]> {
  const keys = new Set<string>()
  const isMeant = (entry: ListedEntry) =>
    entry.accountKey === accountKey && check.mustAnswer('isOfType', isOfType(entry.type))
  const [found, running] = [done.dropped, new Set<string>()]
  for (const state of STATES) {
    let after: string | undefined
    do {
      const { entries, next } = await inbox.list(state, { after, limit: PAGE })
      for (const { key } of entries.filter(isMeant)) (state === 'running' ? running : keys).add(key)
      done.read += entries.length
      done.found = found + keys.size
      done.running = running.size
      onPage()
      after = next
    } while (after !== undefined)
  }
  return [...keys]
}

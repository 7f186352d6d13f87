import { FILLED_TEXT, FLAG, FUNCTION, OptionChecker, PREDICATE, withMethods } from '../protocol/option-checker.ts'
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
export async function dropAll(inbox: Inbox, options: DropAllOptions): Promise<DroppedAll>
// An option behind the others would be ignored, and dryRun with it.
export async function dropAll(inbox: Inbox, options: DropAllOptions, next?: unknown): Promise<DroppedAll> {
  check.mustBe('the inbox', inbox, withMethods('list', 'drop'))
  check.mustFit(options, KINDS, ['accountKey'])
  check.mustEnd(next, 'all options go into one object')
  const { accountKey, isOfType = () => true, dryRun, onProgress = () => {} } = options
  const isMeant = (entry: ListedEntry) =>
    entry.accountKey === accountKey && check.mustAnswer('isOfType', isOfType(entry.type))
  let done: DroppedAll = { read: 0, found: 0, dropped: 0, running: 0 }
  const tell = async (changes: Partial<DroppedAll>) => {
    done = { ...done, ...changes }
    await onProgress(done)
  }
  // One round may miss an event that runs meanwhile and waits again, or one of a page that moves.
  for (let [round, emptyRounds] = [0, 0]; round < MOST_ROUNDS && emptyRounds < 2; round++) {
    const [keys, running] = [new Set<string>(), new Set<string>()]
    // Reads all before one is deleted: an engine may number those of a page.
    for await (const { entries, state } of readPages(inbox)) {
      for (const { key } of entries.filter(isMeant)) (state === 'running' ? running : keys).add(key)
      await tell({ read: done.read + entries.length, found: done.dropped + keys.size, running: running.size })
    }
    if (dryRun) return done
    const found = [...keys]
    for (let from = 0; from < found.length; from += CONCURRENCY) {
      const isDropped = await Promise.all(found.slice(from, from + CONCURRENCY).map((key) => inbox.drop(key)))
      await tell({ dropped: done.dropped + isDropped.filter((each) => each).length })
    }
    emptyRounds = found.length === 0 ? emptyRounds + 1 : 0
  }
  return done
}

const KINDS = { accountKey: FILLED_TEXT, isOfType: PREDICATE, dryRun: FLAG, onProgress: FUNCTION }

async function* readPages(inbox: Inbox) {
  for (const state of STATES) {
    let after: string | undefined
    do {
      const { entries, next } = await inbox.list(state, { after, limit: PAGE })
      yield { state, entries }
      after = next
    } while (after !== undefined)
  }
}

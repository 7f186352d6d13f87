import { type DroppedAll, dropAll } from '../../../src/inbox/drop-all.ts'
import type { InboxState, ListOptions } from '../../../src/inbox/inbox.ts'
import { findNearest } from '../../../src/protocol/nearest.ts'
import { collectTypes, isOfTypes } from '../input/delivery-filter.ts'
import { mustBeMeant } from '../input/keys.ts'
import { ExitError, emit, type Io, tell, usageError } from '../io.ts'
import { toPrintable } from '../output/print-table.ts'
import { showProgress } from '../output/progress-line.ts'
import { getEntry, type InboxCommandOptions, openExisting } from '../service/inbox-options.ts'
import type { AddCommand } from './add-group.ts'

interface DropOptions extends InboxCommandOptions {
  readonly all?: true
  readonly account?: string
  readonly type?: readonly string[]
  readonly dryRun?: true
}

/** `postern inbox drop`: deletes an event, or all of an account. */
export function addInboxDrop(add: AddCommand, io: Io): void {
  add(
    'drop',
    'Delete an event that does not run, or all of an account. Their handlers never run again.',
    'drop 7:default4:acme5:evt_1 --sqlite data/app.db --yes',
    'drop --all --account acme --sqlite data/app.db --dry-run',
  )
    .argument('[key]', 'of one event')
    .option('--all', 'all events of an account, whatever their state')
    .option('--account <key>', 'of --all: the account')
    .option('--type <types>', 'of --all only events of these types, with commas; contact.*, *.deleted', collectTypes)
    .option('--dry-run', 'of --all: only count what would be deleted')
    .option('--yes', 'do not ask')
    .option('--json', 'print one JSON object to standard output')
    .action((key: string | undefined, options: DropOptions) => drop(key, options, io))
}

async function drop(key: string | undefined, options: DropOptions, io: Io): Promise<void> {
  const { all, account } = options
  if (all && key === undefined && account) return dropAccount({ ...options, account }, io)
  if (key === undefined || all) throw usageError('Give the key of one event, or --all and --account KEY.')
  return dropOne(key, options, io)
}

async function dropOne(key: string, { yes, ...options }: InboxCommandOptions, io: Io): Promise<void> {
  await using inbox = await openExisting(options, io.env)
  const { state, type, id } = await getEntry(inbox, key, options)
  const name = `${toPrintable(type)} ${toPrintable(id)}`
  if (state === 'running') throw isRunning(`${name} is`)
  if (!yes) await mustBeMeant(`${name} (${state}) would be deleted, and never handled.`, io)
  if (!(await inbox.drop(key))) {
    await getEntry(inbox, key, options)
    throw isRunning(`${name} is`)
  }
  emit(io, { key, isDropped: true }, `${name} is deleted`, io.stderr)
}

async function dropAccount({ account, ...options }: DropOptions & { readonly account: string }, io: Io): Promise<void> {
  const { type, dryRun, yes } = options
  await using inbox = await openExisting(options, io.env)
  const isMeant = isOfTypes(type)
  const accounts = new Set<string>()
  const list = async (state: InboxState, page?: ListOptions) => {
    const listed = await inbox.list(state, page)
    for (const { accountKey } of listed.entries) if (accounts.size < MOST_ACCOUNTS) accounts.add(accountKey)
    return listed
  }
  const run = async (isDry: boolean) => {
    let now: DroppedAll = { read: 0, found: 0, dropped: 0, running: 0 }
    const end = showProgress(io, () => {
      const text = isDry ? `reading the inbox ${now.read}` : `deleting ${now.dropped}/${now.found}`
      return { text, record: { phase: isDry ? 'reading' : 'deleting', ...now } }
    })
    const onProgress = (progress: DroppedAll) => {
      io.interrupt.throwIfAborted()
      now = progress
    }
    const isOfType = (eventType: string) => isMeant({ eventType })
    try {
      return await dropAll({ ...inbox, list }, { accountKey: account, isOfType, dryRun: isDry, onProgress })
    } finally {
      end()
    }
  }
  const of = `of the account ${toPrintable(account)}`
  const { found } = await run(true)
  if (!dryRun && found > 0 && !yes) await mustBeMeant(`${count(found)} ${of} would be deleted, and never handled.`, io)
  const result = dryRun ? { found, dropped: 0, running: 0 } : await run(false)
  const { dropped, running } = result
  const text = dryRun ? `${count(found)} ${of} would be deleted` : `${count(dropped)} ${of} deleted`
  emit(io, { accountKey: account, found: result.found, dropped, running, isDryRun: dryRun === true }, text, io.stderr)
  if (result.found + running === 0) tell(io, tellNone(account, type, [...accounts]))
  const left = dryRun ? 0 : running + result.found - dropped
  if (left > 0) throw isRunning(`${count(left)} ${of} ${left === 1 ? 'is' : 'are'}`)
}

/** Says what was looked for, and what the inbox holds. */
function tellNone(account: string, types: readonly string[] | undefined, accounts: readonly string[]): string {
  const of = `of the account ${toPrintable(account)}`
  if (accounts.includes(account))
    return `nothing ${of} matches${types ? ` --type ${toPrintable(types.join(','))}` : ''}`
  const nearest = findNearest(account, accounts)
  const named = [...new Set([...(nearest === undefined ? [] : [nearest]), ...accounts])].slice(0, MOST_NAMED)
  const rest = accounts.length > named.length ? ', and others' : ''
  return `the inbox has no event ${of}; ${named.length === 0 ? 'it is empty' : `it has those of ${named.map(toPrintable).join(', ')}${rest}`}`
}

/** Accounts of an inbox that are compared with a misspelt one, and those that are named. */
const MOST_ACCOUNTS = 1_000
const MOST_NAMED = 10

function count(number: number): string {
  return `${number} ${number === 1 ? 'event' : 'events'}`
}

function isRunning(name: string): ExitError {
  return new ExitError('failed', `${name} running, and not deleted.`, {
    fix: 'Run the command again when its try has ended.',
  })
}

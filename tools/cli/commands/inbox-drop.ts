import { type DroppedAll, dropAll } from '../../../src/inbox/drop-all.ts'
import { collectTypes, isOfTypes } from '../input/delivery-filter.ts'
import { mustBeMeant } from '../input/keys.ts'
import { ExitError, emit, type Io, usageError } from '../io.ts'
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
  const { all, account, type, dryRun, ...place } = options
  if (all && key === undefined && account) return dropAccount({ ...options, account }, io)
  if (key === undefined || all) throw usageError('Give the key of one event, or --all and --account KEY.')
  if (account !== undefined || type !== undefined || dryRun)
    throw usageError('--account, --type and --dry-run are for --all.')
  return dropOne(key, place, io)
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
      return await dropAll(inbox, { accountKey: account, isOfType, dryRun: isDry, onProgress })
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
  const left = dryRun ? 0 : running + result.found - dropped
  if (left > 0) throw isRunning(`${count(left)} ${of} ${left === 1 ? 'is' : 'are'}`)
}

function count(number: number): string {
  return `${number} ${number === 1 ? 'event' : 'events'}`
}

function isRunning(name: string): ExitError {
  return new ExitError('failed', `${name} running, and not deleted.`, {
    fix: 'Run the command again when its try has ended.',
  })
}

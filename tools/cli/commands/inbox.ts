import { type Command, Option } from 'commander'
import { type InboxState, MOST_COUNTED, MOST_LISTED } from '../../../src/inbox/inbox.ts'
import { keyIdOf } from '../../../src/inbox/seal.ts'
import { toIso } from '../../../src/protocol/iso-time.ts'
import { quote } from '../../../src/protocol/show.ts'
import { numberReader, WHOLE } from '../input/read-option.ts'
import { emit, emitList, type Io, tell } from '../io.ts'
import { formatBody, formatCounts, formatItem, formatItems, toItemRecord } from '../output/print-item.ts'
import { toWord } from '../output/print-table.ts'
import {
  addInboxOptions,
  getEntry,
  type InboxCommandOptions,
  type InboxOptions,
  migrateInbox,
  openExisting,
  writeInboxOptions,
} from '../service/inbox-options.ts'
import { type AddCommand, addGroup } from './add-group.ts'
import { addInboxDrop } from './inbox-drop.ts'
import { addInboxReplay } from './inbox-replay.ts'
import { addInboxServe } from './inbox-serve.ts'

interface ListCommandOptions extends InboxCommandOptions {
  readonly state: InboxState
  readonly limit: number
  readonly after?: string
}

interface ShowOptions extends InboxCommandOptions {
  readonly body?: true
}

/** `postern inbox …`: the accepted events of an app, and its dead letters. */
export function addInbox(program: Command, io: Io): void {
  const addToGroup = addGroup(program, 'inbox', {
    description: "Look at an app's inbox, and replay or drop its dead letters.",
    notes: `Exit codes: 0 done, 1 no such event, or answered no, 2 usage, or no terminal to ask at, 3 no inbox there, or it cannot be read,
130 interrupted.`,
    examples: ['counts --sqlite data/app.db', 'list --sqlite data/app.db'],
  })
  const add: AddCommand = (...args) => addInboxOptions(addToGroup(...args))
  add(
    'counts',
    'How many events wait, run and are dead letters.',
    'counts --sqlite data/app.db',
    'counts --redis redis://localhost:6379 --json',
  )
    .option('--json', 'print one JSON object to standard output')
    .action((options: InboxCommandOptions) => showCounts(options, io))
  add(
    'list',
    'The events of one state, a page at a time, the oldest first.',
    'list --sqlite data/app.db',
    'list --sqlite data/app.db --state waiting --limit 20 --json',
  )
    .addOption(new Option('--state <state>', 'which ones').choices(STATES).default('dead'))
    .option('--limit <n>', `events on a page, up to ${MOST_LISTED}`, readLimit, 100)
    .option('--after <place>', 'the next page, as the page before names it')
    .option('--json', 'one JSON object a line to standard output')
    .action((options: ListCommandOptions) => list(options, io))
  add(
    'show',
    'One event with its tries.',
    'show 7:default4:acme5:evt_1 --sqlite data/app.db',
    'show 7:default4:acme5:evt_1 --sqlite data/app.db --body',
  )
    .argument('<key>', 'of the event')
    .option('--body', 'its body as well, which may hold personal data')
    .option('--json', 'print one JSON object to standard output; with --body its bytes as bodyBase64')
    .action((key: string, options: ShowOptions) => show(key, options, io))
  addInboxReplay(add, io)
  addInboxDrop(add, io)
  addInboxServe(add, io)
  addToGroup(
    'migrate',
    'Make or update the tables in Postgres. It can be run again.',
    'migrate --postgres postgres://localhost/app',
    'migrate --postgres postgres://localhost/app --schema jobs',
  )
    .requiredOption('--postgres <url>', 'the Postgres of the inbox')
    .option('--table <name>', 'of the inbox (default: postern_inbox)')
    .option('--schema <name>', 'of its tables (default: the first one of the search path)')
    .action(async (options: InboxOptions) => {
      await migrateInbox(options)
      tell(io, 'the tables of the inbox are up to date')
    })
}

const STATES: readonly InboxState[] = ['dead', 'waiting', 'running']

async function showCounts(options: InboxCommandOptions, io: Io): Promise<void> {
  await using inbox = await openExisting(options, io.env)
  const counts = await inbox.counts()
  const { parked = 0, oldestDueAt, oldestParkedAt } = counts
  const toTime = (time: number | undefined) => (time === undefined ? null : (toIso(time) ?? null))
  const oldest = { oldestDueAt: toTime(oldestDueAt), parked, oldestParkedAt: toTime(oldestParkedAt) }
  emit(io, { ...counts, ...oldest, countedTo: MOST_COUNTED }, formatCounts(counts))
}

async function list({ state, limit, after, ...options }: ListCommandOptions, io: Io): Promise<void> {
  await using inbox = await openExisting(options, io.env)
  const { entries, next } = await inbox.list(state, { limit, after })
  const records = entries.map((item) => ({ type: 'item', ...toItemRecord(item) }))
  const none = `the inbox has no ${after === undefined ? '' : 'further '}event that ${WORDS[state]}`
  emitList(io, records, formatItems(entries, state), none)
  if (next === undefined) return
  emit(io, { type: 'page', after: next })
  const where = `${writeInboxOptions(options)} --state ${state} --limit ${limit}${io.isJson ? ' --json' : ''}`
  tell(io, `next page: npx postern inbox list ${where} --after ${toWord(next)}`)
}

const WORDS: Readonly<Record<InboxState, string>> = { dead: 'is a dead letter', waiting: 'waits', running: 'runs' }

async function show(key: string, { body, ...options }: ShowOptions, io: Io): Promise<void> {
  await using inbox = await openExisting(options, io.env)
  const item = await getEntry(inbox, key, options)
  const sealedBy = keyIdOf(item.bytes)
  const isShown = body && sealedBy === undefined
  const text = [formatItem(item), ...(isShown ? [formatBody(item.bytes)] : [])].join('\n\n')
  emit(io, toItemRecord(item, body && item.bytes), text)
  if (body && !isShown) tell(io, `its body is sealed: INBOX_KEYS does not have the key ${quote(sealedBy ?? '')}`)
}

const readLimit = numberReader(
  WHOLE,
  (limit) => limit > 0 && limit <= MOST_LISTED,
  `a whole number, at least 1 and at most ${MOST_LISTED}`,
)

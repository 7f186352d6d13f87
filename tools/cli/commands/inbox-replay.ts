import { setImmediate } from 'node:timers/promises'
import type { Inbox, ListedEntry } from '../../../src/inbox/inbox.ts'
import { toIso } from '../../../src/protocol/iso-time.ts'
import { collectTypes, isOfTypes } from '../input/delivery-filter.ts'
import { mustBeMeant } from '../input/keys.ts'
import { readRate } from '../input/read-option.ts'
import { ExitError, emit, type Io, tell, usageError } from '../io.ts'
import { formatTable, toPrintable } from '../output/print-table.ts'
import { formatProgress, showProgress } from '../output/progress-line.ts'
import { getEntry, type InboxCommandOptions, openExisting } from '../service/inbox-options.ts'
import { sendAll } from '../service/send-all.ts'
import type { AddCommand } from './add-group.ts'

interface ReplayCommandOptions extends InboxCommandOptions {
  readonly all?: true
  readonly type?: readonly string[]
  readonly rate?: number
  readonly dryRun?: true
}

const PAGE = 100
/** Replays under way at the same time: they share a commit. */
const CONCURRENCY = 100

/** `postern inbox replay`: returns dead letters to the workers, or makes the later try of an event due now. */
export function addInboxReplay(add: AddCommand, io: Io): void {
  add(
    'replay',
    'Have dead letters run again, with fresh tries, or an event now that waits for a later try. Run again after an interruption, it goes on: what was replayed is dead no more.',
    'replay 7:default4:acme5:evt_1 --sqlite data/app.db',
    'replay --all --type contact.* --sqlite data/app.db --dry-run',
    'replay --all --sqlite data/app.db --rate 50 --yes',
  )
    .argument('[key]', 'of a dead letter, or of an event that waits for a later try')
    .option('--all', 'all that are dead now, the oldest first')
    .option('--type <types>', 'of --all only events of these types, with commas; contact.*, *.deleted', collectTypes)
    .option('--rate <n>', 'so many a second: 50, or 50/s', (value) => readRate(value.replace(/\/s$/, '')))
    .option('--dry-run', 'only list what would be replayed')
    .option('--yes', 'do not ask before --all')
    .option('--json', 'one JSON object a line: items and a summary to standard output, progress to standard error')
    .action((key: string | undefined, options: ReplayCommandOptions) => replay(key, options, io))
}

type Planned = ReturnType<typeof toPlanned>

async function replay(key: string | undefined, options: ReplayCommandOptions, io: Io): Promise<void> {
  const { all, dryRun, yes } = options
  if ((key === undefined) === (all === undefined)) throw usageError('Give the key of one event, or --all.')
  await using inbox = await openExisting(options, io.env)
  const plan = key === undefined ? await readPlan(inbox, options, io) : [await readOne(inbox, key, options)]
  if (dryRun) return tellPlan(plan, io)
  if (all && !yes && plan.length > 0) await mustBeMeant(`${count(plan)} would be replayed.`, io)
  const { left, error, ...done } = await replayAll(inbox, plan, options, io)
  const isComplete = left === 0
  emit(io, { type: 'summary', isComplete, total: plan.length, ...done })
  const gone = done.gone === 0 ? '' : `, ${done.gone} left out: replayed or dropped by another process`
  tell(io, plan.length === 0 ? NONE : `${done.replayed} of ${count(plan)} replayed${gone}`)
  if (!isComplete)
    tell(
      io,
      'Run the same command again to continue with the rest: events that were replayed are no longer dead letters.',
    )
  if (error !== undefined) throw error
  if (!isComplete) throw new ExitError('interrupted')
}

const NONE = 'there is no such dead letter'

/** Reads all dead letters before one is replayed, so that none is replayed a second time when it dies again. */
async function readPlan(inbox: Inbox, { type }: ReplayCommandOptions, io: Io): Promise<readonly Planned[]> {
  const isOfType = isOfTypes(type)
  const plan: Planned[] = []
  let read = 0
  const end = showProgress(io, () => {
    return { text: `reading the dead letters ${read}`, record: { phase: 'reading', done: read } }
  })
  try {
    let after: string | undefined
    do {
      const page = await inbox.list('dead', { after, limit: PAGE })
      for (const item of page.entries) if (isOfType({ eventType: item.type })) plan.push(toPlanned(item))
      read += page.entries.length
      after = page.next
      await setImmediate() // for Ctrl-C
      io.interrupt.throwIfAborted()
    } while (after !== undefined)
  } finally {
    end()
  }
  return plan
}

async function readOne(inbox: Inbox, key: string, options: InboxCommandOptions): Promise<Planned> {
  const item = await getEntry(inbox, key, options)
  const { state, dueAt, behind } = item
  const waitsForLater = state === 'waiting' && behind === undefined && dueAt > Date.now()
  if (state === 'dead' || waitsForLater) return toPlanned(item)
  const first = behind === undefined ? 'it is due' : `it waits for ${toPrintable(behind)}`
  const why = state === 'running' ? 'it is running' : first
  throw new ExitError('failed', `${toPrintable(item.type)} ${toPrintable(item.id)} cannot be replayed: ${why}.`)
}

function toPlanned({ key, type, id, state, dueAt, tries }: ListedEntry) {
  const deadSince = state === 'dead' ? toIso(dueAt) : undefined
  return { key, eventType: type, eventId: id, state, deadSince: deadSince ?? null, code: tries.at(-1)?.code }
}

function tellPlan(plan: readonly Planned[], io: Io): void {
  const total = plan.length
  const rows = plan.map((item) => [item.key, item.eventType, item.eventId, item.deadSince ?? undefined, item.code])
  const table = formatTable(['KEY', 'TYPE', 'EVENT', 'DEAD SINCE', 'CODE'], rows)
  for (const item of plan) emit(io, { type: 'item', outcome: 'planned', ...item })
  emit(io, { type: 'summary', isComplete: true, total }, total === 0 ? undefined : table)
  tell(io, total === 0 ? NONE : `${count(plan)} would be replayed`)
}

/** Replays until the first failure. Returns the numbers of dead letters that were replayed, gone and left, and the failure. */
async function replayAll(inbox: Inbox, plan: readonly Planned[], { rate }: ReplayCommandOptions, io: Io) {
  const done = { replayed: 0, gone: 0 }
  const failure = new AbortController()
  const begin = performance.now()
  const end = showProgress(io, () => toStanding(done, plan.length, performance.now() - begin))
  const signal = AbortSignal.any([io.interrupt, failure.signal])
  const replayOne = async (item: Planned) => {
    try {
      const outcome = (await inbox.replay(item.key)) ? 'replayed' : 'gone'
      done[outcome]++
      emit(io, { type: 'item', outcome, ...item })
    } catch (error) {
      failure.abort(error)
    }
  }
  await sendAll(plan, replayOne, { concurrent: CONCURRENCY, rate, signal })
  end()
  const left = plan.length - done.replayed - done.gone
  return { ...done, left, error: failure.signal.reason }
}

function toStanding({ replayed, gone }: { replayed: number; gone: number }, total: number, elapsedMs: number) {
  const done = replayed + gone
  const etaMs = done === 0 ? undefined : Math.round((elapsedMs / done) * (total - done))
  return {
    text: formatProgress('replaying', { done, total, etaMs }),
    record: { phase: 'replaying', done, total, etaMs },
  }
}

function count(plan: readonly Planned[]): string {
  const noun = plan.some(({ state }) => state === 'waiting') ? 'waiting event' : 'dead letter'
  return `${plan.length} ${noun}${plan.length === 1 ? '' : 's'}`
}

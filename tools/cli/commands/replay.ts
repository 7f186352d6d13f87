import { open } from 'node:fs/promises'
import type { Command } from 'commander'
import {
  type Client,
  type ReplayedEvent,
  type ReplayJournal,
  type ReplayResult,
  replayFailed,
} from '../../../src/client/client.ts'
import { collectTypes, isOfTypes, readSince } from '../input/delivery-filter.ts'
import { mustBeMeant } from '../input/keys.ts'
import { readIfThere } from '../input/read-bytes.ts'
import { readCount, readLimit, waitOption } from '../input/read-option.ts'
import { ExitError, emit, type Io, refuseFile, tell, usageError } from '../io.ts'
import { holdFile } from '../output/own-file.ts'
import { COLUMNS, toColumns, withoutRaw } from '../output/print-delivery.ts'
import { formatTable } from '../output/print-table.ts'
import { createReplayDisplay, type ReplayDisplay } from '../output/replay-progress.ts'
import { countErrors, countOutcomes, formatBreak, formatSummary } from '../output/replay-summary.ts'
import { addServiceOptions, connectToService, type ServiceOptions, tellIfPaused } from '../service/service-client.ts'
import { addCommand } from './add-group.ts'

interface ReplayCommandOptions extends ServiceOptions {
  readonly webhook: string
  readonly failed?: true
  readonly since?: Date
  readonly type?: readonly string[]
  readonly limit?: number
  readonly concurrency: number
  readonly timeout: number
  readonly dryRun?: true
  readonly journal?: string
}

const MOST_UNASKED = 20

/** `postern replay`: asks the service to retry permanently failed deliveries. */
export function addReplay(program: Command, io: Io): void {
  const command = addCommand(
    program,
    'replay',
    'Have the service deliver again what failed for good: each event that never came through, once.',
    `Exit codes: 0 all delivered, or nothing to retry; 1 an event failed again or was refused; 2 usage; 3 no service there;
4 login refused; 5 no result in time, or gave up on the rate limit; 130 interrupted, with its summary.`,
    'postern replay --webhook 65f0c1 --failed --since 24h --dry-run',
    'postern replay --webhook 65f0c1 --failed --journal outage.journal --yes',
  )
    .requiredOption('--webhook <id>', 'whose deliveries')
    .option('--failed', 'what failed; nothing else can be retried, so this may be left out')
    .option('--since <time>', 'only deliveries made since: 24h, or a date', readSince)
    .option('--type <types>', 'only events of these types, with commas; contact.*, *.deleted', collectTypes)
    .option('--limit <n>', 'so many events at most, the oldest first, those of the journal included', readLimit)
    .option('--concurrency <n>', 'retries under way at the same time, up to 20', readCount, 2)
    .addOption(waitOption('--timeout <time>', 'how long to wait for a further result', 60_000, '60s'))
    .option('--journal <file>', 'notes what was retried: interrupted, the same command with it repeats nothing')
    .option('--dry-run', 'only list what would be retried')
    .option('--yes', `do not ask, though there are more than ${MOST_UNASKED}`)
    .option('--json', 'one JSON object a line: events and a summary to standard output, progress to standard error')
  addServiceOptions(command).action((options: ReplayCommandOptions) => replay(options, io))
}

async function replay(options: ReplayCommandOptions, io: Io): Promise<void> {
  if (options.journal === undefined) return replayWith(undefined, options, io)
  if (options.dryRun) {
    const text = await readJournal(options.journal)
    return replayWith({ read: () => text.split('\n'), append: async () => {} }, options, io)
  }
  // Two runs with one journal would retry the same events.
  await using _held = await holdFile(options.journal, async () => false, io)
  await using journal = await openJournal(options.journal)
  await replayWith(journal, options, io)
}

/** Reads a journal, if it exists. Ends the command if the file is something else. */
async function readJournal(path: string): Promise<string> {
  const text = `${(await readIfThere(path)) ?? ''}`
  if (text === '' || text.startsWith('{"webhookId":')) return text
  throw usageError(`${path} is not a journal of this command. Name another file.`)
}

/** Opens a journal in a file that only its owner can read. */
async function openJournal(path: string): Promise<ReplayJournal & AsyncDisposable> {
  const text = await readJournal(path)
  const file = await open(path, 'a', 0o600).catch((error: unknown) => {
    throw refuseFile(path, 'written', error)
  })
  const append = (lines: string) =>
    file.appendFile(lines).catch((error: Error) => {
      throw new ExitError('failed', `${path} cannot be written: ${error.message}. Nothing is retried without it.`)
    })
  // A line that a crash has cut must not run into the next one.
  if (text !== '' && !text.endsWith('\n')) await append('\n')
  return {
    read: () => text.split('\n'),
    append: (line) => append(`${line}\n`),
    [Symbol.asyncDispose]: () => file.close(),
  }
}

async function replayWith(journal: ReplayJournal | undefined, options: ReplayCommandOptions, io: Io): Promise<void> {
  const display = createReplayDisplay(io)
  const client = await connectToService(options, io, display.onWait)
  const result = await retryAll(client, journal, display, options, io).catch((error: unknown) => {
    if (display.progress !== undefined || io.interrupt.aborted) tellBreak(display, options, io)
    throw error
  })
  if (isIdle(options)) return tellResult({ ...result, events: [] }, options, io, result.events.length)
  tellResult(result, options, io)
  const { failed, not_retriable: refused, gone, unresolved } = countOutcomes(result.events)
  if (failed + refused + gone > 0) throw new ExitError('failed')
  if (unresolved === 0) return
  await tellIfPaused(client, options.webhook, options, io)
  throw new ExitError('gave_up')
}

/** Returns true if no event is asked for: those that are due are then counted. */
function isIdle({ limit, journal }: ReplayCommandOptions): boolean {
  return limit === 0 && journal === undefined
}

/** Retries the failed deliveries, or only lists them on a dry run. Asks before it retries many. */
async function retryAll(
  client: Client,
  journal: ReplayJournal | undefined,
  display: ReplayDisplay,
  options: ReplayCommandOptions,
  io: Io,
): Promise<ReplayResult> {
  const { webhook: webhookId, since, type, limit, concurrency, timeout: waitMs, dryRun, yes } = options
  const wanted = {
    webhookId,
    since,
    limit,
    concurrency,
    waitMs,
    journal,
    filter: isOfTypes(type),
    signal: io.interrupt,
  }
  const run = (more: Partial<Parameters<typeof replayFailed>[1]>) => replayFailed(client, { ...wanted, ...more })
  let end = display.show()
  try {
    if (isIdle(options)) return await run({ dryRun: true, limit: undefined })
    if (dryRun) return await run({ dryRun })
    const plan = yes ? undefined : await run({ dryRun: true })
    end()
    const { planned } = countOutcomes(plan?.events ?? [])
    if (planned > MOST_UNASKED) await mustBeMeant(`${planned} events would be delivered again.`, io)
    end = display.show()
    // Events that have failed since the question are left out.
    const ids = plan && new Set(plan.events.map(({ delivery }) => delivery.id))
    const result = await run({
      filter: (delivery) => wanted.filter(delivery) && ids?.has(delivery.id) !== false,
      onProgress: display.onProgress,
    })
    return plan === undefined ? result : addSkipped(result, plan)
  } finally {
    end()
  }
}

/** Adds the events that the plan skipped: they are not read again. */
function addSkipped(result: ReplayResult, { skipped }: ReplayResult): ReplayResult {
  const { delivered, pending } = result.skipped
  return { ...result, skipped: { delivered: delivered + skipped.delivered, pending: pending + skipped.pending } }
}

function tellResult(result: ReplayResult, { since }: ReplayCommandOptions, io: Io, due = 0): void {
  const { events, retried, resumed, skipped } = result
  const rows = events
    .filter(({ outcome }) => outcome !== 'succeeded')
    .map(({ delivery, after, outcome }) => [outcome, ...toColumns(after ?? delivery)])
  for (const event of events) emit(io, toLine(event))
  const errors = Object.fromEntries(countErrors(events))
  const summary = { type: 'summary', isComplete: true, retried, resumed, skipped, ...countOutcomes(events), errors }
  emit(io, summary, rows.length === 0 ? undefined : formatTable(['OUTCOME', ...COLUMNS], rows))
  if (since?.getTime() !== result.since?.getTime())
    tell(io, `deliveries ${toWindow(result.since)}, as when the journal was begun`)
  tell(io, formatSummary(result, due))
}

function toWindow(since: Date | undefined): string {
  return since === undefined ? 'of any time' : `since ${since.toISOString()}`
}

function toLine({ delivery, after, outcome }: ReplayedEvent): object {
  return { type: 'event', outcome, ...withoutRaw(after ?? delivery) }
}

function tellBreak({ progress }: ReplayDisplay, { journal }: ReplayCommandOptions, io: Io): void {
  emit(io, { type: 'summary', isComplete: false, ...progress })
  tell(io, formatBreak(progress))
  const how = journal === undefined ? 'Events that were delivered are left out then' : 'No retry is repeated then'
  tell(io, `Run the same command again to continue with the rest. ${how}.`)
}

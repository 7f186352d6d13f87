import { open, readFile, stat } from 'node:fs/promises'
import { type Command, Option } from 'commander'
import { type ReplayedEvent, type ReplayJournal, type ReplayResult, replayFailed } from '../../client/client.ts'
import { confirm } from '../input/confirm.ts'
import { collectTypes, isOfTypes, readSince } from '../input/delivery-filter.ts'
import { readCount, readTime } from '../input/read-option.ts'
import { EXIT, ExitError, type Finish, type Io } from '../io.ts'
import { type HeldPlace, holdPlace } from '../output/hold-place.ts'
import { COLUMNS, toColumns, toRecord } from '../output/print-delivery.ts'
import { formatTable } from '../output/print-table.ts'
import { ProgressDisplay } from '../output/replay-progress.ts'
import { countErrors, countOutcomes, formatBreak, formatSummary } from '../output/replay-summary.ts'
import { addServiceOptions, connectToService, type ServiceOptions } from '../service/service-client.ts'
import { tellIfPaused } from '../service/tell-if-paused.ts'

interface ReplayCommandOptions extends ServiceOptions {
  readonly webhook: string
  readonly failed?: true
  readonly since?: Date
  readonly type?: readonly string[]
  readonly limit?: number
  readonly concurrency: number
  readonly timeout: number
  readonly dryRun?: true
  readonly yes?: true
  readonly journal?: string
  readonly json?: true
}

/** More than so many are not retried without being asked. */
const MOST_UNASKED = 20

/** `postern replay`: has what failed for good delivered again. */
export function addReplay(program: Command, io: Io, finish: Finish): void {
  const command = program
    .command('replay')
    .description('Have the service deliver again what failed for good: each event that never came through, once.')
    .requiredOption('--webhook <id>', 'whose deliveries')
    .option('--failed', 'what failed; nothing else can be retried, so this may be left out')
    .option('--since <time>', 'only deliveries made since: 24h, or a date', readSince)
    .option('--type <types>', 'only events of these types, with commas; contact.*, *.deleted', collectTypes)
    .option('--limit <n>', 'so many events at most, the oldest first, those of the journal included', readCount)
    .option('--concurrency <n>', 'retries under way at the same time, up to 20', readCount, 2)
    .addOption(
      new Option('--timeout <time>', 'how long to wait for a further result')
        .argParser(readTime)
        .default(60_000, '60s'),
    )
    .option('--journal <file>', 'notes what was retried: interrupted, the same command with it repeats nothing')
    .option('--dry-run', 'only list what would be retried')
    .option('--yes', `do not ask, though there are more than ${MOST_UNASKED}`)
    .option('--json', 'one JSON object a line: events and a summary to standard output, progress to standard error')
  addServiceOptions(command)
    .addHelpText('after', EXAMPLES)
    .action(async (options: ReplayCommandOptions) => finish(await replay(options, io)))
}

async function replay(options: ReplayCommandOptions, io: Io): Promise<number> {
  if (options.journal === undefined) return replayWith(undefined, options, io)
  await mustBeFile(options.journal)
  if (options.dryRun) {
    const text = await readJournal(options.journal)
    return replayWith({ read: () => text.split('\n'), append: async () => {} }, options, io)
  }
  // Two runs with one journal would both retry what neither has noted yet.
  await using held = await holdPlace(options.journal, async () => false, io)
  await using journal = await openJournal(options.journal, held)
  return await replayWith(journal, options, io)
}

/** A journal in a file, for its owner only. */
interface JournalFile extends ReplayJournal, AsyncDisposable {}

/** Ends the command if something else is there: opening a pipe waits for its reader. */
async function mustBeFile(path: string): Promise<void> {
  const isFile = await stat(path).then(
    (stats) => stats.isFile(),
    () => true, // it is made
  )
  if (!isFile) throw new ExitError(EXIT.usage, `${path} cannot be written: it is not a file`)
}

/** Reads a journal, which may be yet to come. Ends the command if the file holds something else: lines would be added to it. */
async function readJournal(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw new ExitError(EXIT.usage, `${path} cannot be read: ${error.message}`)
  })
  if (text === '' || text.startsWith('{"webhookId":')) return text
  throw new ExitError(EXIT.usage, `${path} is not a journal of this command. Name another file.`)
}

/** Opens a journal, or makes it. */
async function openJournal(path: string, held: HeldPlace): Promise<JournalFile> {
  const text = await readJournal(path)
  const file = await open(path, 'a', 0o600).catch((error: Error) => {
    throw new ExitError(EXIT.usage, `${path} cannot be written: ${error.message}`)
  })
  const append = async (lines: string) => {
    if (!(await held.isHeld()))
      throw new ExitError(EXIT.failed, `Another run has taken over ${path}, while this one stood still.`)
    await file.appendFile(lines).catch((error: Error) => {
      throw new ExitError(EXIT.failed, `${path} cannot be written: ${error.message}. Nothing is retried without it.`)
    })
  }
  // A line that a crash has cut must not run into the next one.
  if (text !== '' && !text.endsWith('\n')) await append('\n')
  return {
    read: () => text.split('\n'),
    append: (line) => append(`${line}\n`),
    [Symbol.asyncDispose]: () => file.close(),
  }
}

async function replayWith(journal: ReplayJournal | undefined, options: ReplayCommandOptions, io: Io): Promise<number> {
  const { webhook: webhookId, since, type, limit, concurrency, timeout: waitMs, dryRun, yes } = options
  const display = new ProgressDisplay(io, options.json === true)
  display.start()
  try {
    const client = await connectToService(options, io, (wait) => display.onWait(wait))
    const wanted = {
      ...{ webhookId, concurrency, waitMs, filter: isOfTypes(type), signal: io.interrupt },
      ...(since !== undefined && { since }),
      ...(limit !== undefined && { limit }),
      ...(journal !== undefined && { journal }),
    }
    const run = (more: Partial<Parameters<typeof replayFailed>[1]>) => replayFailed(client, { ...wanted, ...more })
    if (dryRun) return tellResult(await run({ dryRun }), display, options, io)
    const plan = yes ? undefined : await run({ dryRun: true })
    display.end()
    if (plan !== undefined && !(await isMeant(plan, io))) return EXIT.failed
    display.start()
    // What failed while one thought about it was not asked for.
    const ids = plan && new Set(plan.events.map(({ delivery }) => delivery.id))
    const result = await run({
      filter: (delivery) => wanted.filter(delivery) && ids?.has(delivery.id) !== false,
      onProgress: (progress) => display.onProgress(progress),
    })
    const code = tellResult(plan === undefined ? result : addSkipped(result, plan), display, options, io)
    if (code === EXIT.gaveUp) await tellIfPaused(client, webhookId, options, io)
    return code
  } catch (error) {
    display.end()
    if (display.progress !== undefined || io.interrupt.aborted) tellBreak(display, options, io)
    throw error
  } finally {
    display.end()
  }
}

async function isMeant({ events }: ReplayResult, io: Io): Promise<boolean> {
  const { planned } = countOutcomes(events)
  if (planned <= MOST_UNASKED || (await confirm(`${planned} events would be delivered again.`, io))) return true
  io.stderr.write('nothing was retried\n')
  return false
}

/** Adds the events that the plan skipped: they are not read again. */
function addSkipped(result: ReplayResult, { skipped }: ReplayResult): ReplayResult {
  const { delivered, pending } = result.skipped
  return { ...result, skipped: { delivered: delivered + skipped.delivered, pending: pending + skipped.pending } }
}

function tellResult(
  result: ReplayResult,
  display: ProgressDisplay,
  { json, since }: ReplayCommandOptions,
  io: Io,
): number {
  display.end()
  const { events, retried, resumed, skipped } = result
  const counts = countOutcomes(events)
  if (json) {
    for (const event of events) io.stdout.write(`${JSON.stringify(toLine(event))}\n`)
    const summary = { type: 'summary', isComplete: true, retried, resumed, skipped, ...counts }
    io.stdout.write(`${JSON.stringify({ ...summary, errors: Object.fromEntries(countErrors(events)) })}\n`)
  } else {
    const rows = events
      .filter(({ outcome }) => outcome !== 'succeeded')
      .map(({ delivery, after, outcome }) => [outcome, ...toColumns(after ?? delivery)])
    if (rows.length > 0) io.stdout.write(`${formatTable(['OUTCOME', ...COLUMNS], rows)}\n`)
  }
  if (since?.getTime() !== result.since?.getTime())
    io.stderr.write(`deliveries ${toWindow(result.since)}, as when the journal was begun\n`)
  io.stderr.write(formatSummary(result))
  if (counts.failed + counts.not_retriable + counts.gone > 0) return EXIT.failed
  return counts.unresolved > 0 ? EXIT.gaveUp : EXIT.done
}

function toWindow(since: Date | undefined): string {
  return since === undefined ? 'of any time' : `since ${since.toISOString()}`
}

function toLine({ delivery, after, outcome }: ReplayedEvent): object {
  return { type: 'event', outcome, ...toRecord(after ?? delivery) }
}

/** Whatever ends it early, it can be called again. */
function tellBreak({ progress }: ProgressDisplay, { json, journal }: ReplayCommandOptions, io: Io): void {
  if (json) io.stdout.write(`${JSON.stringify({ type: 'summary', isComplete: false, ...progress })}\n`)
  io.stderr.write(formatBreak(progress))
  const how = journal === undefined ? 'Events that were delivered are left out then' : 'No retry is repeated then'
  io.stderr.write(`Run the same command again to continue with the rest. ${how}.\n`)
}

const EXAMPLES = `
Exit codes: 0 all delivered, or nothing to retry; 1 an event failed again or was refused; 2 usage; 3 no service there;
4 login refused; 5 no result in time, or gave up on the rate limit; 130 interrupted, with its summary.

Examples:
  $ postern replay --webhook 65f0c1 --failed --since 24h --dry-run
  $ postern replay --webhook 65f0c1 --failed --journal outage.journal --yes`

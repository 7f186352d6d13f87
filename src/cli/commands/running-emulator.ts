import type { Command } from 'commander'
import { clock, state } from '../../emulator/contract.ts'
import { inspectorOf } from '../input/emulator-options.ts'
import { mustBeMeant } from '../input/keys.ts'
import { readDuration } from '../input/read-option.ts'
import { EXIT, ExitError, endIfInterrupted, type Io, usageError, writeJson } from '../io.ts'
import { createDeliveryDisplay } from '../output/attempt-line.ts'
import { formatTable } from '../output/print-table.ts'
import { addEmulatorUrl, connectToEmulator, type EmulatorUrlOptions } from '../service/emulator-client.ts'
import { toHelp } from './add-group.ts'

interface ClockOptions extends EmulatorUrlOptions {
  readonly advance?: number
  readonly next?: true
}

/** Longest wait for the number of pending deliveries after Ctrl-C. */
const LAST_LOOK_MS = 1_000
/** Moving a clock waits for slow receivers, possibly for many attempts. */
const MOVE_WITHIN_MS = 600_000

/** `postern logs`: the attempts of an emulator in another process. */
export function addLogs(program: Command, io: Io): void {
  const notes = 'Ctrl-C ends it, with a summary and exit code 130; 3 if no emulator answers, or it ends.'
  const description =
    'Show the attempts of a running emulator from now on, as dev does. Earlier ones are in postern deliveries list.'
  addEmulatorUrl(program.command('logs').description(description))
    .option('--json', 'one JSON object a line to standard output')
    .addHelpText('after', toHelp(notes, 'postern logs', 'postern logs --json'))
    .action((options: EmulatorUrlOptions) => showLogs(options, io))
}

async function showLogs(options: EmulatorUrlOptions, io: Io): Promise<never> {
  const emulator = await connectToEmulator(options, io)
  const { settings, webhooks } = await emulator.readState()
  const display = createDeliveryDisplay({ ...settings, ...options }, io)
  const begin = `attempts of the emulator at ${emulator.url} from now on, until Ctrl-C
earlier ones: postern deliveries list, or ${inspectorOf(emulator)}
${webhooks.length === 0 ? 'no webhook is registered there yet, so nothing is delivered\n' : ''}`
  try {
    for await (const message of emulator.listen(io.interrupt)) {
      if (message.type !== 'ready') display.show(message)
      else if (options.json) writeJson(io, { type: 'ready', emulator: emulator.url })
      else io.stderr.write(begin)
    }
    throw new ExitError(EXIT.unreachable, `The emulator at ${emulator.url} has ended.`)
  } catch (error) {
    const last = { signal: AbortSignal.timeout(LAST_LOOK_MS) } // Ctrl-C does not end this one
    const pending = await emulator.readState(last).then(
      ({ counts }) => counts.pending,
      () => undefined, // it has ended, or hangs
    )
    display.finish(pending)
    endIfInterrupted(io)
    throw error
  }
}

/** `postern clock`: the time of a running emulator. */
export function addClock(program: Command, io: Io): void {
  const notes = `Only an emulator that was started with --clock manual has a clock that can be moved.
Exit codes: 0 done, 1 --next with no attempt planned, 2 usage, 3 no emulator there, 130 interrupted.`
  const description = 'Show the clock of a running emulator, or move a manual one.'
  addEmulatorUrl(program.command('clock').description(description))
    .option('--advance <time>', 'move it on, and make all attempts that fall due on the way: 30s, 2h', readDuration)
    .option('--next', 'move it to the next attempt that is due, and make it')
    .option('--json', 'print one JSON object to standard output')
    .addHelpText('after', toHelp(notes, 'postern clock --advance 30s', 'postern clock --json'))
    .action((options: ClockOptions) => runClock(options, io))
}

async function runClock({ advance, next, json, ...options }: ClockOptions, io: Io): Promise<void> {
  if (advance !== undefined && next) throw usageError('Give --advance or --next, not both.')
  const emulator = await connectToEmulator(options, io)
  const move = next ? { next: true } : advance === undefined ? undefined : { advance }
  const shown =
    move === undefined
      ? await emulator.call('GET clock', clock)
      : await emulator.call('POST clock', clock, { body: move, withinMs: MOVE_WITHIN_MS })
  const { isManual, now, nextDueAt, inFlight, moved } = shown
  if (json) writeJson(io, shown)
  else {
    const kind = isManual ? 'manual: it stands still until it is moved' : "the machine's"
    const rows = [
      ['now', now],
      ['next attempt', nextDueAt ?? undefined],
      ['in flight', inFlight],
    ]
    io.stdout.write(`${formatTable(['clock', kind], rows)}\n`)
  }
  if (moved !== false) return
  io.stderr.write('no attempt is planned; the clock was not moved\n')
  throw new ExitError(EXIT.failed)
}

/** `postern reset`: a running emulator as it was when it started. */
export function addReset(program: Command, io: Io): void {
  const notes =
    'Exit codes: 0 done, 1 answered no, 2 usage, or no terminal to ask at, 3 no emulator there, 130 interrupted.'
  const description = 'Empty a running emulator: webhooks, records, deliveries, faults, and accounts that were added.'
  addEmulatorUrl(program.command('reset').description(description))
    .option('--yes', 'do not ask')
    .option('--json', 'print one JSON object to standard output')
    .addHelpText('after', toHelp(notes, 'postern reset --yes', 'postern reset --yes --json'))
    .action(async ({ yes, json, ...options }: EmulatorUrlOptions) => {
      const emulator = await connectToEmulator(options, io)
      if (!yes) await mustBeMeant(`All webhooks, records and deliveries of ${emulator.url} would be lost.`, io)
      await emulator.call('POST reset', state, { body: {} })
      if (json) writeJson(io, { url: emulator.url, isReset: true })
      else io.stderr.write(`the emulator at ${emulator.url} is empty\n`)
    })
}

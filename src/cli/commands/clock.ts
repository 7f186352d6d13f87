import type { Command } from 'commander'
import { readTime } from '../input/read-option.ts'
import { EXIT, ExitError, type Finish, type Io } from '../io.ts'
import { formatTable } from '../output/print-table.ts'
import { clock } from '../service/emulator-answers.ts'
import { addEmulatorUrl, connectToEmulator, type EmulatorUrlOptions } from '../service/emulator-client.ts'

interface ClockOptions extends EmulatorUrlOptions {
  readonly advance?: number
  readonly next?: true
  readonly json?: true
}

/** A step waits for slow receivers, and a long way has many. */
const MOVE_WITHIN_MS = 600_000

/** `postern clock`: the time of a running emulator. */
export function addClock(program: Command, io: Io, finish: Finish): void {
  const command = program.command('clock').description('Show the clock of a running emulator, or move a manual one.')
  addEmulatorUrl(command)
    .option('--advance <time>', 'move it on, and make all attempts that fall due on the way: 30s, 2h', readTime)
    .option('--next', 'move it to the next attempt that is due, and make it')
    .option('--json', 'print one JSON object to standard output')
    .addHelpText('after', EXAMPLES)
    .action(async (options: ClockOptions) => finish(await runClock(options, io)))
}

async function runClock({ advance, next, json, ...options }: ClockOptions, io: Io): Promise<number> {
  if (advance !== undefined && next) throw new ExitError(EXIT.usage, 'Give --advance or --next, not both.')
  const emulator = await connectToEmulator(options, io)
  const move = next ? { next: true } : advance === undefined ? undefined : { advance }
  const state =
    move === undefined
      ? await emulator.call('GET clock', clock)
      : await emulator.call('POST clock', clock, { body: move, withinMs: MOVE_WITHIN_MS })
  const { isManual, now, nextDueAt, inFlight, moved } = state
  if (json) io.stdout.write(`${JSON.stringify(state)}\n`)
  else {
    const kind = isManual ? 'manual: it stands still until it is moved' : "the machine's"
    const rows = [
      ['now', now],
      ['next attempt', nextDueAt ?? undefined],
      ['in flight', inFlight],
    ]
    io.stdout.write(`${formatTable(['clock', kind], rows)}\n`)
  }
  if (moved !== false) return EXIT.done
  io.stderr.write('no attempt is planned; the clock was not moved\n')
  return EXIT.failed
}

const EXAMPLES = `
Only an emulator that was started with --clock manual has a clock that can be moved.
Exit codes: 0 done, 1 --next with no attempt planned, 2 usage, 3 no emulator there, 130 interrupted.

Examples:
  $ postern clock --advance 30s
  $ postern clock --json`

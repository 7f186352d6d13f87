import type { Command } from 'commander'
import { EXIT, ExitError, type Finish, type Io } from '../io.ts'
import { createDeliveryDisplay } from '../output/show-deliveries.ts'
import { addEmulatorUrl, connectToEmulator, type EmulatorUrlOptions } from '../service/emulator-client.ts'

interface LogsOptions extends EmulatorUrlOptions {
  readonly json?: true
}

/** Longest wait for the number of what is pending, after Ctrl-C. */
const LAST_LOOK_MS = 1_000

/** `postern logs`: the attempts of an emulator that runs in another process. */
export function addLogs(program: Command, io: Io, finish: Finish): void {
  const command = program
    .command('logs')
    .description('Show the attempts of a running emulator as they end, as dev does.')
  addEmulatorUrl(command)
    .option('--json', 'one JSON object a line to standard output')
    .addHelpText('after', EXAMPLES)
    .action(async (options: LogsOptions) => finish(await showLogs(options, io)))
}

async function showLogs(options: LogsOptions, io: Io): Promise<number> {
  const emulator = await connectToEmulator(options, io)
  const { retryScale } = await emulator.readState()
  const display = createDeliveryDisplay({ retryScale, ...options }, io)
  try {
    for await (const message of emulator.listen(io.interrupt)) {
      if (message.type !== 'ready') display.show(message)
      else if (options.json) io.stdout.write(`${JSON.stringify({ type: 'ready', emulator: emulator.url })}\n`)
      else io.stderr.write(`attempts of the emulator at ${emulator.url}, until Ctrl-C\n`)
    }
    throw new ExitError(EXIT.unreachable, `The emulator at ${emulator.url} has ended.`)
  } catch (error) {
    const last = { signal: AbortSignal.timeout(LAST_LOOK_MS) } // Ctrl-C does not end this one
    const pending = await emulator.readState(last).then(
      (state) => state.pending,
      () => undefined, // it has ended, or hangs
    )
    display.finish(pending)
    if (io.interrupt.aborted) return EXIT.interrupted
    throw error
  }
}

const EXAMPLES = `
Ctrl-C ends it, with a summary and exit code 130; 3 if no emulator answers, or it ends.

Examples:
  $ postern logs
  $ postern logs --json`

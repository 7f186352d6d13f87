import type { Command } from 'commander'
import { inspectorOf } from '../input/emulator-options.ts'
import { ExitError, emit, endIfInterrupted, type Io } from '../io.ts'
import { createDeliveryDisplay } from '../output/attempt-line.ts'
import { addEmulatorUrl, connectToEmulator, type EmulatorUrlOptions } from '../service/emulator-client.ts'
import { addCommand } from './add-group.ts'

/** Longest wait for the number of pending deliveries after Ctrl-C. */
const LAST_LOOK_MS = 1_000

/** `postern logs`: the attempts of an emulator in another process. */
export function addLogs(program: Command, io: Io): void {
  const command = addCommand(
    program,
    'logs',
    'Show the attempts of a running emulator from now on, as dev does. Earlier ones are in npx postern deliveries list.',
    'Ctrl-C ends it, with a summary and exit code 130; 3 if no emulator answers, or it ends.',
    'postern logs',
    'postern logs --json',
  )
  addEmulatorUrl(command)
    .option('--json', 'one JSON object a line to standard output')
    .action((options: EmulatorUrlOptions) => showLogs(options, io))
}

async function showLogs(options: EmulatorUrlOptions, io: Io): Promise<never> {
  const emulator = await connectToEmulator(options, io)
  const { settings, webhooks } = await emulator.readState()
  const display = createDeliveryDisplay(settings, io)
  const begin = `attempts of the emulator at ${emulator.url} from now on, until Ctrl-C
earlier ones: npx postern deliveries list, or ${inspectorOf(emulator)}
${webhooks.length === 0 ? 'no webhook is registered there yet, so nothing is delivered\n' : ''}`.trimEnd()
  try {
    for await (const message of emulator.listen(io.interrupt)) {
      if (message.type === 'ready') emit(io, { type: 'ready', emulator: emulator.url }, begin, io.stderr)
      else display.show(message)
    }
    throw new ExitError('unreachable', `The emulator at ${emulator.url} has ended.`)
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

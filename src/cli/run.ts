import { Command, CommanderError } from 'commander'
import { PosternError } from '../protocol/errors.ts'
import { addCheck } from './commands/check.ts'
import { addDeliveries } from './commands/deliveries.ts'
import { addDev } from './commands/dev.ts'
import { addEmulator } from './commands/emulator.ts'
import { addFixtures } from './commands/fixtures.ts'
import { addReplay } from './commands/replay.ts'
import { addSign } from './commands/sign.ts'
import { addTrigger } from './commands/trigger.ts'
import { addVerify } from './commands/verify.ts'
import { addWebhooks } from './commands/webhooks.ts'
import { exitCodeFor } from './exit-code.ts'
import { BrokenOutput, EXIT, ExitError, type Io } from './io.ts'
import { toPrintable } from './printable.ts'
import { readVersion } from './version.ts'

/**
 * Runs one command line, without the name of the program.
 *
 * @returns the exit code: 0 done, 1 what was asked failed, 2 usage, 3 cannot start or connect, 4 login refused, 5 gave up, 130 interrupted, 141 standard output was closed
 */
export async function run(args: readonly string[], io: Io): Promise<number> {
  let exitCode: number = EXIT.done
  const program = new Command('postern')
    .description('Tools for receivers of signed webhooks.')
    .version(readVersion(), '--version', 'print the version of the package')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
    })
    .showSuggestionAfterError()
    .showHelpAfterError('(--help tells what there is)')
  const finish = (code: number) => {
    exitCode = code
  }
  for (const add of COMMANDS) add(program, io, finish)
  try {
    await program.parseAsync(args, { from: 'user' })
    return exitCode
  } catch (error) {
    // Commander has said what is wrong by itself; help that was asked for is no error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage
    if (error instanceof ExitError) return sayAndExit(io, error.message, error.exitCode)
    if (error instanceof BrokenOutput) return sayAndExit(io, error.message, error.exitCode)
    if (io.interrupt.aborted && error === io.interrupt.reason) return sayAndExit(io, 'interrupted', EXIT.interrupted)
    // It may repeat what a service has said.
    if (error instanceof PosternError) return sayAndExit(io, printLines(error.message), exitCodeFor(error.code))
    throw error
  }
}

const COMMANDS = [
  addDev,
  addTrigger,
  addEmulator,
  addFixtures,
  addCheck,
  addSign,
  addVerify,
  addWebhooks,
  addDeliveries,
  addReplay,
]

function sayAndExit(io: Io, message: string, exitCode: number): number {
  io.stderr.write(`postern: ${message}\n`)
  return exitCode
}

function printLines(text: string): string {
  return text.split('\n').map(toPrintable).join('\n')
}

import { createRequire } from 'node:module'
import { Command, CommanderError } from 'commander'
import { type ErrorCode, PosternError } from '../protocol/errors.ts'
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
import { BrokenOutput, EXIT, ExitError, type Io } from './io.ts'
import { toPrintable } from './output/print-table.ts'

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
    if (error instanceof PosternError)
      return sayAndExit(io, printLines(error.message), EXIT_CODES[error.code] ?? EXIT.usage)
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

/** What each code of an error ends a command with. All others are about what was written on the command line. */
const EXIT_CODES: { readonly [code in ErrorCode]?: number } = {
  port_in_use: EXIT.unreachable,
  database_unusable: EXIT.unreachable,
  driver_missing: EXIT.unreachable,
  service_unreachable: EXIT.unreachable,
  service_failed: EXIT.unreachable,
  redirect_refused: EXIT.unreachable,
  login_refused: EXIT.refused,
  token_refused: EXIT.refused,
  rate_limited: EXIT.gaveUp,
  not_found: EXIT.failed,
  not_retriable: EXIT.failed,
  request_refused: EXIT.failed,
  answer_unusable: EXIT.failed,
  outcome_unknown: EXIT.failed,
}

/** The version of the package, read where it is needed only. */
function readVersion(): string {
  // By the name of the package: this file is nearer to package.json once it is built.
  const { version }: { readonly version: string } = createRequire(import.meta.url)('postern/package.json')
  return version
}

import { Command, CommanderError } from 'commander'
import { type ErrorCode, PosternError } from '../protocol/errors.ts'
import { addCheck } from './commands/check.ts'
import { addDev } from './commands/dev.ts'
import { addEmulator } from './commands/emulator.ts'
import { addFixtures } from './commands/fixtures.ts'
import { addSign } from './commands/sign.ts'
import { addTrigger } from './commands/trigger.ts'
import { addVerify } from './commands/verify.ts'
import { EXIT, ExitError, type Io } from './io.ts'
import { readVersion } from './version.ts'

/**
 * Runs one command line, without the name of the program.
 *
 * @returns the exit code: 0 done, 1 what was asked failed, 2 usage, 3 cannot start or connect, 5 gave up, 130 interrupted
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
  for (const add of [addDev, addTrigger, addEmulator, addFixtures, addCheck, addSign, addVerify])
    add(program, io, finish)
  try {
    await program.parseAsync(args, { from: 'user' })
    return exitCode
  } catch (error) {
    // Commander has said what is wrong by itself; help that was asked for is no error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage
    if (error instanceof ExitError) return sayAndExit(io, error.message, error.exitCode)
    if (error instanceof PosternError)
      return sayAndExit(io, error.message, CANNOT_START.includes(error.code) ? EXIT.unreachable : EXIT.usage)
    throw error
  }
}

/** What is the machine's and not the command line's fault. */
const CANNOT_START: readonly ErrorCode[] = ['port_in_use', 'database_unusable', 'driver_missing']

function sayAndExit(io: Io, message: string, exitCode: number): number {
  io.stderr.write(`postern: ${message}\n`)
  return exitCode
}

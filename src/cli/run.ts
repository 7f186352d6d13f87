import { createRequire } from 'node:module'
import { Command, CommanderError } from 'commander'
import { type ErrorCode, PosternError } from '../protocol/errors.ts'
import { addCheck } from './commands/check.ts'
import { addClock } from './commands/clock.ts'
import { addCompletion } from './commands/completion.ts'
import { addDeliveries } from './commands/deliveries.ts'
import { addDev } from './commands/dev.ts'
import { addEmulator } from './commands/emulator.ts'
import { addFaults } from './commands/faults.ts'
import { addFixtures } from './commands/fixtures.ts'
import { addInbox } from './commands/inbox.ts'
import { addLogs } from './commands/logs.ts'
import { addRecords } from './commands/records.ts'
import { addReplay } from './commands/replay.ts'
import { addReset } from './commands/reset.ts'
import { addSign } from './commands/sign.ts'
import { addTrigger } from './commands/trigger.ts'
import { addVerify } from './commands/verify.ts'
import { addWebhooks } from './commands/webhooks.ts'
import { BrokenOutput, EXIT, ExitError, type Finish, type Io, type Output } from './io.ts'
import { toPrintable } from './output/print-table.ts'

/**
 * Runs one command line, without the name of the program.
 *
 * @returns the exit code: 0 done, 1 what was asked failed, 2 usage, 3 cannot start or connect, 4 login refused, 5 gave up, 130 interrupted, 141 standard output was closed
 */
export async function run(args: readonly string[], given: Io): Promise<number> {
  let exitCode: number = EXIT.done
  const finish = (code: number) => {
    exitCode = code
  }
  const fixes = new Map<ErrorCode, string>()
  const io = isJson(args) ? { ...given, stdout: toJsonOutput(given.stdout) } : given
  const program = createProgram({ ...io, advise: (code, fix) => fixes.set(code, fix) }, finish)
  try {
    await program.parseAsync(askForKnownHelp(program, args), { from: 'user' })
    return exitCode
  } catch (error) {
    // Help and the version are reported as errors, too.
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.done
    const failure = toFailure(error, io, fixes)
    if (failure === undefined) throw error
    const { code, message, fix } = failure
    // Commander has written its message already.
    if (!(error instanceof CommanderError)) io.stderr.write(`postern: ${[message, fix].filter(Boolean).join(' ')}\n`)
    if (isJson(args)) io.stdout.write(`${JSON.stringify({ error: { code, message, fix } })}\n`)
    return failure.exitCode
  }
}

function createProgram(io: Io, finish: Finish): Command {
  const program = new Command('postern')
    .description('Tools for receivers of signed webhooks.')
    .version(readVersion(), '--version', 'print the version of the package')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      outputError: (text, write) => write(withoutValue(text)),
    })
    .showSuggestionAfterError()
    .showHelpAfterError('(--help tells what there is)')
    .addHelpText('after', HELP)
  for (const [heading, adders] of Object.entries(COMMANDS)) {
    program.commandsGroup(heading)
    for (const add of adders) add(program, io, finish)
  }
  return program
}

/** An option that is not known may have been given the secret: `--secret=whsec_…`. */
function withoutValue(message: string): string {
  return message.replace(/(unknown option '-[^'=]*)=.*'/s, "$1'")
}

const COMMANDS: Readonly<Record<string, readonly ((program: Command, io: Io, finish: Finish) => void)[]>> = {
  'While you write a receiver:': [addDev, addTrigger, addCheck, addSign, addVerify, addFixtures],
  'A running emulator:': [addEmulator, addLogs, addClock, addFaults, addRecords, addReset],
  'The service:': [addWebhooks, addDeliveries, addReplay],
  'Your app:': [addInbox],
  'The shell:': [addCompletion],
}

const HELP = `
Exit codes: 0 done, 1 what was asked failed, 2 usage, 3 cannot start or connect, 4 login refused, 5 gave up on time or rate limit,
130 interrupted, 141 standard output was closed.

First steps, in two terminals:
  $ postern dev --forward http://localhost:3000/webhooks --env .env.local
  $ postern trigger contact.created --watch

Read on: docs/reference/cli.md for all commands, docs/guides/troubleshooting.md for what goes wrong.`

/** Commander answers `chekc --help` with the help of the program and exit code 0. Without its `--help` a misspelt command is reported. */
function askForKnownHelp(program: Command, args: readonly string[]): readonly string[] {
  const isHelp = (arg: string) => arg === '--help' || arg === '-h'
  let command = program
  for (const [index, arg] of args.entries()) {
    if (command.commands.length === 0) break
    if (arg.startsWith('-')) continue // no group takes an option with a value
    if (arg === 'help') return askForKnownHelp(program, [...args.filter((_, at) => at !== index), '--help'])
    const next = command.commands.find((each) => each.name() === arg)
    if (next === undefined) return args.filter((each) => !isHelp(each))
    command = next
  }
  return args
}

/** The `--json` of `check` names a file, or `-` for standard output. */
function isJson(args: readonly string[]): boolean {
  const at = args.indexOf('--json')
  if (args[0] !== 'check') return at >= 0
  return args.includes('--json=-') || (at >= 0 && args[at + 1] === '-')
}

/** Escapes what a terminal could obey and JSON allows: programs read the same. */
function toJsonOutput(output: Output): Output {
  const toUnit = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  return {
    isTTY: output.isTTY === true,
    write: (text, callback) =>
      output.write(text.replace(/[\u007f-\u009f\p{Bidi_Control}\u2028\u2029]/gu, toUnit), callback),
  }
}

/** An error of the user or of the world, as all commands report it. */
interface Failure {
  readonly exitCode: number
  readonly code: string
  readonly message: string
  readonly fix?: string | undefined
}

/** Undefined for a defect of the program. */
function toFailure(error: unknown, { interrupt }: Io, fixes: ReadonlyMap<ErrorCode, string>): Failure | undefined {
  if (error instanceof CommanderError)
    return { exitCode: EXIT.usage, code: 'usage', message: withoutValue(error.message.replace(/^error: /, '')) }
  if (error instanceof ExitError || error instanceof BrokenOutput) {
    const { exitCode, message } = error
    const fix = error instanceof ExitError ? error.fix : undefined
    return { exitCode, code: CODES[exitCode] ?? 'failed', message, fix }
  }
  if (interrupt.aborted && error === interrupt.reason)
    return { exitCode: EXIT.interrupted, code: 'interrupted', message: 'interrupted' }
  if (!(error instanceof PosternError)) return undefined
  // It may repeat what a service has said.
  const message = error.message.split('\n').map(toPrintable).join('\n')
  return { exitCode: EXIT_CODES[error.code] ?? EXIT.usage, code: error.code, message, fix: fixes.get(error.code) }
}

/** The codes of errors that are the command line's own. */
const CODES: Readonly<Record<number, string>> = {
  [EXIT.failed]: 'failed',
  [EXIT.usage]: 'usage',
  [EXIT.unreachable]: 'unreachable',
  [EXIT.gaveUp]: 'gave_up',
  [EXIT.interrupted]: 'interrupted',
  [EXIT.closed]: 'output_closed',
}

/** Exit code for each error code. All other error codes are about the arguments of the command. */
const EXIT_CODES: { readonly [code in ErrorCode]?: number } = {
  port_in_use: EXIT.unreachable,
  database_unusable: EXIT.unreachable,
  driver_missing: EXIT.unreachable,
  store_unavailable: EXIT.unreachable,
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
  webhook_not_ours: EXIT.failed,
  secret_not_saved: EXIT.failed,
}

/** Reads the version of the package, only when it is needed. */
function readVersion(): string {
  // By the name of the package: this file is nearer to package.json once it is built.
  const { version }: { readonly version: string } = createRequire(import.meta.url)('postern/package.json')
  return version
}

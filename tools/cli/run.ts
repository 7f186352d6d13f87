import { createRequire } from 'node:module'
import { Command, CommanderError } from 'commander'
import { escapeUnits } from '../../src/host/escape.ts'
import { type ErrorCode, PosternError } from '../../src/protocol/errors.ts'
import { findNearest } from '../../src/protocol/nearest.ts'
import { addCheck } from './commands/check.ts'
import { addDeliveries } from './commands/deliveries.ts'
import { addDev } from './commands/dev.ts'
import { addEmulator } from './commands/emulator.ts'
import { addFixtures } from './commands/fixtures.ts'
import { addInbox } from './commands/inbox.ts'
import { addLogs } from './commands/logs.ts'
import { addReplay } from './commands/replay.ts'
import { addTrigger } from './commands/trigger.ts'
import { addSign, addVerify } from './commands/verify.ts'
import { addWebhooks } from './commands/webhooks.ts'
import { mustStandBeside } from './input/stand-beside.ts'
import { EXIT, ExitError, emit, type Io, type Output, type Process, tell, usageError } from './io.ts'
import { toPrintable } from './output/print-table.ts'

/**
 * Runs one command line, without the name of the program.
 *
 * @returns the exit code: 0 done, 1 what was asked failed, 2 usage, 3 cannot start or connect, 4 login refused, 5 gave up, 130 interrupted, 141 standard output was closed
 */
export async function run(args: readonly string[], given: Process): Promise<number> {
  const isJson = asksForJson(args)
  const stdout = isJson ? toJsonOutput(given.stdout) : given.stdout
  const io = { ...given, stdout, isJson }
  const program = createProgram(io, args)
  try {
    mustBeOfNoGroup(program, args)
    mustBeKnown(program, args)
    mustHaveValues(program, args)
    await program.parseAsync(args, { from: 'user' })
    return EXIT.done
  } catch (error) {
    // Commander reports help and the version as errors, too.
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.done
    if (error instanceof ExitError && error.message === '') return error.exitCode
    const failure = toFailure(error, io)
    if (failure === undefined) throw error
    const { code, message, fix } = failure
    // Commander writes its messages itself.
    if (!(error instanceof CommanderError)) tell(io, `postern: ${[message, fix].filter(Boolean).join(' ')}`)
    emit(io, { error: { code, message, fix } })
    return failure.exitCode
  }
}

function createProgram(io: Io, args: readonly string[]): Command {
  const version = readVersion()
  const program = new Command('postern')
    .description('Tools for receivers of signed webhooks.')
    .version(version, '-v, --version', 'print the version of the package')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      outputError: (text, write) => write(withoutValue(text) + findOption(program, args, text)),
    })
    .showSuggestionAfterError()
    .showHelpAfterError('(--help tells what there is)')
    .addHelpText('after', HELP)
    .hook('preAction', (_, command) => {
      mustStandBeside(command)
      tellRepeated(command, args, io)
    })
  for (const [heading, adders] of Object.entries(COMMANDS)) {
    program.commandsGroup(heading)
    for (const add of adders) add(program, io)
  }
  program.command('version', { hidden: true }).action(() => void io.stdout.write(`${version}\n`))
  return program
}

/**
 * Ends the command at an unknown option. Commander would name a required one that is missing, which may be the same, misspelt, and suggest
 * options that are not near.
 */
function mustBeKnown(program: Command, args: readonly string[]): void {
  const { options, commands } = findCommand(program, args)
  if (commands.length > 0) return // it is a group, without the name of a command
  const known = ['help', ...options.map(({ long }) => `${long}`.slice(2))]
  const names = beforeEnd(args).flatMap((arg) => /^--(\w[^=]*)/s.exec(arg)?.[1] ?? [])
  const stray = names.find((name) => !known.includes(name))
  if (stray === undefined) return
  const longer = known.filter((name) => name.startsWith(`${stray}-`))
  const meant = longer.length > 0 ? longer : [findNearest(stray, known) ?? []].flat()
  const fix =
    meant.length === 0 ? '--help tells what there is.' : `Did you mean ${meant.map((name) => `--${name}`).join(', ')}?`
  throw usageError(`unknown option '--${stray}'. ${fix}`)
}

/** Returns the arguments that may be options. */
function beforeEnd(args: readonly string[]): readonly string[] {
  const end = args.indexOf('--')
  return end < 0 ? args : args.slice(0, end)
}

/** Ends the command at an option with a value that it does not take, or without one that it needs: Commander would take the next option for it. */
function mustHaveValues(program: Command, args: readonly string[]): void {
  const { options } = findCommand(program, args)
  for (const [index, arg] of beforeEnd(args).entries()) {
    const [flag = ''] = arg.split('=')
    if (flag !== arg && options.some(({ long, required, optional }) => !required && !optional && long === flag))
      throw usageError(`${flag} takes no value: write it alone, or leave it out.`)
    const next = args[index + 1] ?? ''
    const isEmpty = flag === arg ? args[index + 1] === '' : arg === `${flag}=`
    if (
      isEmpty &&
      options.some(({ long, flags }) => long === flag && /^--seed|<(file|folder|name|place|url|id|key)>/.test(flags))
    )
      throw usageError(`${flag} is empty. Is its variable set?`)
    if (/^--\w/.test(next) && options.some(({ long, required }) => required && long === arg))
      throw usageError(`${arg} needs a value, and ${next} is an option. If it is the value: ${arg}=${next}`)
  }
}

/** Warns of an option, or of one name of a repeatable option such as `--set <path=value>`, that was given several values: the last one counts. */
function tellRepeated(command: Command, args: readonly string[], io: Io): void {
  const own = beforeEnd(args)
  for (const option of command.options) {
    const { long, required, flags } = option
    const isNamed = flags.endsWith('=value>')
    const isList = !isNamed && Array.isArray(command.getOptionValue(option.attributeName()))
    if (!required || long == null || isList) continue
    const given = own.filter((arg, at) => arg.startsWith(`${long}=`) || own[at - 1] === long)
    const values = given.map((arg) => arg.replace(`${long}=`, ''))
    for (const name of new Set(values.map((value) => (isNamed ? value.replace(/=.*/s, '') : '')))) {
      const ofName = values.filter((value) => !isNamed || value.startsWith(`${name}=`))
      if (new Set(ofName).size > 1)
        tell(io, `${`${long} ${name}`.trim()} takes one value, and was given ${ofName.length}: the last one counts.`)
    }
  }
}

/** Returns the command that a command line names. */
function findCommand(program: Command, args: readonly string[]): Command {
  let command = program
  for (const arg of args) {
    const next = command.commands.find((each) => each.name() === arg)
    if (next === undefined) break
    command = next
  }
  return command
}

/** Returns the option that a superfluous argument may have meant, such as `--state waiting` by `waiting`. */
function findOption(program: Command, args: readonly string[], text: string): string {
  if (!/^error: (too many arguments|unknown command)/.test(text)) return ''
  const given = findCommand(program, args)
  const command = given.commands.find((each) => each.name() === 'list') ?? given
  const prefix = command === given ? '' : `${command.name()} `
  for (const { long, argChoices = [], required } of command.options) {
    const word = args.find((arg) => argChoices.includes(arg) || (!required && `--${arg}` === long))
    if (word !== undefined) return `(Did you mean ${prefix}${long}${argChoices.includes(word) ? ` ${word}` : ''}?)\n`
  }
  return ''
}

/** Removes the value of an unknown option, which may be a secret: `--secret=whsec_…`. */
function withoutValue(message: string): string {
  return message.replace(/(unknown option '-[^'=]*)=.*'/s, "$1'")
}

const COMMANDS: Readonly<Record<string, readonly ((program: Command, io: Io) => void)[]>> = {
  'While you write a receiver:': [addDev, addTrigger, addCheck, addSign, addVerify, addFixtures],
  'A running emulator:': [addEmulator, addLogs],
  'The service:': [addWebhooks, addDeliveries, addReplay],
  'Your app:': [addInbox],
}

const HELP = `
Exit codes: 0 done, 1 what was asked failed, 2 usage, 3 cannot start or connect, 4 login refused, 5 gave up on time or rate limit,
130 interrupted, 141 standard output was closed.

First steps, in two terminals:
  $ postern dev --forward http://localhost:3000/webhooks --env .env.local
  $ postern trigger contact.created --watch

Read on in the repository: docs/reference/cli.md has all commands, docs/guides/troubleshooting.md what goes wrong.`

/** Ends the command at the name of a command of a group: Commander would name the nearest top-level command, such as `dev` for `get`. */
function mustBeOfNoGroup({ commands }: Command, args: readonly string[]): void {
  const named = args.find((arg) => !arg.startsWith('-'))
  const groups = commands.filter((group) => group.commands.some((each) => each.name() === named))
  if (groups.length === 0 || commands.some((each) => each.name() === named)) return
  const meant = groups.map((group) => `postern ${group.name()} ${named}`).join(' or ')
  throw usageError(`unknown command '${named}'. Did you mean ${meant}?`)
}

/** Returns true if standard output is for programs. The `--json` of `check` names a file, or `-` for standard output. */
function asksForJson(args: readonly string[]): boolean {
  const at = args.indexOf('--json')
  if (args[0] !== 'check') return at >= 0
  return args.includes('--json=-') || (at >= 0 && args[at + 1] === '-')
}

/** Escapes characters that JSON allows and a terminal could obey. Programs read the same value. */
function toJsonOutput(output: Output): Output {
  return {
    isTTY: output.isTTY === true,
    write: (text, callback) =>
      output.write(escapeUnits(text, /[\u007f-\u009f\p{Bidi_Control}\u2028\u2029]/gu), callback),
  }
}

/** An expected error, as all commands report it. */
interface Failure {
  readonly exitCode: number
  readonly code: string
  readonly message: string
  readonly fix?: string | undefined
}

/** Returns undefined for a defect of the program. */
function toFailure(error: unknown, { interrupt }: Io): Failure | undefined {
  if (error instanceof CommanderError)
    return { exitCode: EXIT.usage, code: 'usage', message: withoutValue(error.message.replace(/^error: /, '')) }
  if (error instanceof ExitError) {
    const { exitCode, code, message, fix } = error
    return { exitCode, code, message, fix }
  }
  if (interrupt.aborted && error === interrupt.reason)
    return { exitCode: EXIT.interrupted, code: 'interrupted', message: 'interrupted' }
  if (!(error instanceof PosternError)) return undefined
  // The message may quote a service.
  const message = error.message.split('\n').map(toPrintable).join('\n')
  return { exitCode: exitCodeOf(error.code), code: error.code, message, fix: FIXES[error.code] }
}

/** Fixes on the command line, for errors whose messages are about code. */
const FIXES: { readonly [code in ErrorCode]?: string } = {
  service_unreachable: 'If an emulator is meant, start it in another terminal: npx postern emulator',
}

/** Error codes by the reason to end the command. The others are about its arguments: usage. */
const REASONS: { readonly [reason in keyof typeof EXIT]?: readonly ErrorCode[] } = {
  unreachable: [
    'port_in_use',
    'database_unusable',
    'driver_missing',
    'store_unavailable',
    'inbox_unavailable',
    'service_unreachable',
    'service_failed',
    'redirect_refused',
  ],
  refused: ['login_refused', 'token_refused'],
  gave_up: ['rate_limited'],
  failed: [
    'not_found',
    'not_retriable',
    'request_refused',
    'answer_unusable',
    'outcome_unknown',
    'webhook_not_ours',
    'secret_not_saved',
  ],
}

function exitCodeOf(code: ErrorCode): number {
  const names = Object.keys(EXIT) as (keyof typeof EXIT)[] // its own keys
  return EXIT[names.find((name) => REASONS[name]?.includes(code)) ?? 'usage']
}

function readVersion(): string {
  // Finds package.json by the name of the package, since the built file is nearer to it.
  const { version }: { readonly version: string } = createRequire(import.meta.url)('postern/package.json')
  return version
}

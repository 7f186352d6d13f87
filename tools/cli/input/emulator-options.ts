import { writeFile } from 'node:fs/promises'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { openSqlite, type SqliteDatabase } from '../../../adapters/stores/sqlite.ts'
import { PosternError } from '../../../src/protocol/errors.ts'
import {
  type Account,
  DIALECTS,
  type Emulator,
  type EmulatorOptions,
  type FaultOptions,
  startEmulator,
} from '../../emulator/emulator.ts'
import { ExitError, type Io, messageOf, tell, usageError } from '../io.ts'
import { type InboxOptions, readInboxPlace } from '../service/inbox-options.ts'
import { createLateInbox } from '../service/late-inbox.ts'
import {
  collect,
  numberReader,
  readDuration,
  readRate,
  signatureHeaderOption,
  tryDuration,
  WHOLE,
} from './read-option.ts'

export const DEFAULT_PORT = 4010
const PORTS_TRIED = 20

/** Options that are passed to the emulator as they are. */
const PASSED = [
  'host',
  'hostAllow',
  'retryScale',
  'clock',
  'dialect',
  'assume',
  'seed',
  'ordered',
  'deadline',
  'tokenTtl',
  'rateLimit',
  'signatureHeader',
  'debugHeaders',
] as const

export interface EmulatorCommandOptions extends Pick<EmulatorOptions, (typeof PASSED)[number]>, FaultOptions {
  readonly port?: number
  readonly retryScale: number
  readonly data?: string
  readonly inbox?: InboxOptions
  readonly account?: readonly Account[]
  readonly signatureHeader: string
}

export function addEmulatorOptions(command: Command): Command {
  const dialects = new Option('--dialect <name>', 'how the service answers where its text leaves that open')
  return command
    .option('--port <n>', `where it listens (default: ${DEFAULT_PORT}, or the next that is free)`, readPort)
    .option('--host <address>', 'the address that it listens on', '127.0.0.1')
    .option('--host-allow <name>', 'a name besides localhost by which it may be called; several times', collect)
    .option('--retry-scale <n>', 'divide the delays between attempts: 600 makes 50 ms of 30 s', readRate, 1)
    .addOption(new Option('--clock <kind>', 'manual: time stands still until it is moved').choices(['manual']))
    .option('--data <file>', 'keep everything in an SQLite file, and go on from there at the next start')
    .option(
      '--inbox <place>',
      "your app's inbox, for the inspector: sqlite:FILE, redis://HOST or postgres://HOST/DATABASE",
      readInboxPlace,
    )
    .addOption(dialects.choices(Object.keys(DIALECTS)).default('default'))
    .option(
      '--assume <name=value>',
      'a single assumption, by name or number: listBody=items; several times',
      collectAssumptions,
    )
    .option('--account <key:email:password>', 'an account besides acme and globex; several times', collectAccounts)
    .option('--fail <share>', 'lose so many attempts before they are sent: 0.2', readShare)
    .option('--duplicate <share>', 'send so many attempts twice: 0.1', readShare)
    .option('--shuffle', 'deliver in any order')
    .option('--latency <time>', 'wait before each attempt: 200ms, or 50-500ms', readLatency)
    .option('--seed <text>', 'the same faults and ids in every run')
    .option('--ordered', 'one attempt at a time')
    .option('--deadline <time>', 'how long an attempt waits for an answer (default: 10s)', readDuration)
    .option('--token-ttl <time>', 'how long an access token lives (default: 1h)', readDuration)
    .option('--rate-limit <n/time>', 'requests to the API (default: 600/60s)')
    .addOption(signatureHeaderOption())
    .option('--debug-headers', 'send ids of the emulator along, which the service does not')
    .option('--json', 'one JSON object a line to standard output')
}

/** Starts an emulator. Closing it closes its database as well. */
export async function openEmulator(options: EmulatorCommandOptions, io: Io, devToken?: string): Promise<Emulator> {
  const settings = toSettings(options, io)
  const database = options.data === undefined ? undefined : await openDatabase(options.data)
  const inbox = options.inbox === undefined ? undefined : createLateInbox(options.inbox, io.env)
  try {
    const emulator = await startOnPort({ ...settings, database, inbox, devToken }, options)
    // Otherwise the text of the command says it.
    if (io.isJson) await inbox?.counts().catch((error) => tell(io, `the inbox is not there yet: ${messageOf(error)}`))
    const close = async () => {
      await emulator.close()
      await inbox?.[Symbol.asyncDispose]()
      database?.close()
    }
    return { ...emulator, close, [Symbol.asyncDispose]: close }
  } catch (error) {
    database?.close()
    throw error
  }
}

export function inspectorOf({ url }: Pick<Emulator, 'url'>): string {
  return `${url}/_inspector`
}

export function countPending({ deliveries }: Emulator): number {
  return deliveries.list().filter(({ status }) => status === 'pending').length
}

async function openDatabase(file: string): Promise<SqliteDatabase> {
  if (file.trim() === '' || file === ':memory:')
    throw usageError('--data takes the path of a file. Without it, everything is kept in memory.')
  try {
    // The file contains secrets.
    await writeFile(file, '', { flag: 'a', mode: 0o600 })
  } catch (error) {
    throw new ExitError(
      'unreachable',
      `${file} cannot be written: ${messageOf(error)}. Give a file that this program may write, in a folder that is there.`,
    )
  }
  return openSqlite(file)
}

async function startOnPort(settings: EmulatorOptions, { port }: EmulatorCommandOptions): Promise<Emulator> {
  for (let next = port ?? DEFAULT_PORT; ; next++) {
    try {
      return await startEmulator({ ...settings, port: next })
    } catch (error) {
      const isTaken = error instanceof PosternError && error.code === 'port_in_use'
      if (!isTaken || port !== undefined || next >= DEFAULT_PORT + PORTS_TRIED) throw error
    }
  }
}

function toSettings(options: EmulatorCommandOptions, io: Io): EmulatorOptions {
  const { fail, duplicate, shuffle, latency, account: accounts } = options
  const say = (_fields: object, message: string) => tell(io, message)
  return {
    ...Object.fromEntries(PASSED.map((name) => [name, options[name]])),
    accounts,
    faults: { fail, duplicate, shuffle, latency },
    logger: { debug: () => {}, info: () => {}, warn: say, error: say },
  }
}

function collectAssumptions(text: string, before: object = {}): object {
  const [, id = '', value] = /^([A-Za-z]\w*)=(.+)$/.exec(text) ?? []
  if (value === undefined) throw usageError(`--assume ${text}: write it as listBody=items, or A04=items.`)
  return { ...before, [id]: value }
}

function collectAccounts(text: string, before: readonly Account[] = []): readonly Account[] {
  const [, key = '', email = '', password] = /^([^:]+):([^:]+):(.+)$/.exec(text) ?? []
  if (password === undefined) throw usageError('--account: write it as key:email:password.') // does not repeat a password
  return [...before, { key, email, password }]
}

/** Reads a duration, or two with a hyphen between them, the first of which may omit the unit of the second: `50-500ms`. */
export function readLatency(text: string): string | readonly [string, string] {
  const [, unit = ''] = /([a-z]+)$/.exec(text) ?? []
  const [from = '', to, ...others] = text.split('-').map((each) => (/\d$/.test(each) ? each + unit : each))
  const [least, most] = [from, to ?? from].map(tryDuration)
  if (others.length > 0 || least === undefined || most === undefined || least > most)
    throw new InvalidArgumentError('It must be a duration, or two, the shorter first: 200ms, 50-500ms.')
  return to === undefined ? from : [from, to]
}

export const readPort = numberReader(WHOLE, (port) => port <= 65_535, 'a number up to 65535; 0 takes any free port')

export const readShare = numberReader(/^\d*\.?\d+$/, (share) => share <= 1, 'a number from 0 to 1')

import { type Command, InvalidArgumentError } from 'commander'
import type { TableName } from '../../../adapters/stores/postgres/statements.ts'
import type { Inbox, InboxEntry } from '../../../src/inbox/inbox.ts'
import type { SealKeys } from '../../../src/inbox/seal.ts'
import { sealedInbox } from '../../../src/inbox/sealed-inbox.ts'
import { ConfigurationError } from '../../../src/protocol/errors.ts'
import { findNearest } from '../../../src/protocol/nearest.ts'
import type { EngineInbox } from '../inboxes/engine-inbox.ts'
import { openPostgresInbox } from '../inboxes/open-postgres-inbox.ts'
import { openInbox } from '../inboxes/open-sqlite-inbox.ts'
import { ExitError, usageError } from '../io.ts'
import { toPrintable, toWord } from '../output/print-table.ts'

/** Engines of an inbox: how an address begins and is written, and the options for a place in it, which it takes behind a `?`. */
const ENGINES = {
  sqlite: { address: /^sqlite:./, form: 'FILE', details: ['table'], takes: 'a SQLite file takes only ?table=NAME' },
  redis: {
    address: /^rediss?:\/\//,
    form: 'redis://HOST:PORT',
    details: ['queue', 'prefix'],
    takes: 'a URL of Redis takes ?queue=NAME and &prefix=TEXT',
  },
  postgres: {
    address: /^postgres(ql)?:\/\//,
    form: 'postgres://HOST/DATABASE',
    details: ['table', 'schema'],
    takes: 'a URL of Postgres takes ?table=NAME and &schema=NAME',
  },
} as const
type Engine = keyof typeof ENGINES
type Detail = (typeof ENGINES)[Engine]['details'][number]

const NAMES = Object.keys(ENGINES) as Engine[] // its own keys
const DETAILS = [...new Set(NAMES.flatMap((name): readonly Detail[] => ENGINES[name].details))]

export type InboxOptions = { readonly [Name in Engine | Detail]?: string }

export interface InboxCommandOptions extends InboxOptions {
  readonly yes?: true
}

export type OpenInbox = Inbox & AsyncDisposable & { readonly missing?: string | undefined }

export function addInboxOptions(command: Command): Command {
  return command
    .option('--sqlite <file>', 'the SQLite file of the inbox')
    .option('--postgres <url>', 'the Postgres of the inbox')
    .option('--table <name>', 'its table (default: postern_inbox)')
    .option('--schema <name>', 'of its tables in Postgres (default: the first one that has them)')
    .option('--redis <url>', 'the Redis of an inbox on BullMQ')
    .option('--queue <name>', "BullMQ's queue (default: postern)")
    .option('--prefix <text>', "of BullMQ's keys in Redis (default: bull)")
}

/** Reads `sqlite:FILE`, or the URL of a Redis or a Postgres, with further options behind a `?`. */
export function readInboxPlace(text: string): InboxOptions {
  // Allows `redis:redis://HOST`, like `sqlite:FILE`.
  const url = text.replace(/^(redis|postgres):(?=\1)/, '')
  const engine = NAMES.find((name) => ENGINES[name].address.test(url))
  if (engine === undefined)
    throw new InvalidArgumentError('Write it as sqlite:FILE, redis://HOST:PORT or postgres://HOST/DATABASE.')
  return splitAddress(engine, url.replace(/^sqlite:/, ''))
}

/** Separates an address from the options for a place behind its `?`. */
function splitAddress(engine: Engine, address: string): InboxOptions {
  const [url, query] = address.split(/\?(.*)/s)
  const further = new URLSearchParams(query)
  const details: readonly Detail[] = ENGINES[engine].details
  const own = new Map(details.flatMap((name) => further.getAll(name).map((value) => [name, value])))
  for (const name of own.keys()) further.delete(name)
  // The remaining parameters belong to the URL, such as sslmode.
  const mistakable = engine === 'postgres' ? DETAILS : details
  const stray = [...further.keys()].find((name) => engine === 'sqlite' || findNearest(name, mistakable) !== undefined)
  if (stray !== undefined) throw usageError(`The inbox has ?${toPrintable(stray)}: ${ENGINES[engine].takes}.`)
  const rest = own.size === 0 ? address : `${url}${further.size > 0 ? `?${further}` : ''}`
  return { [engine]: rest, ...Object.fromEntries(own) }
}

/** Variables of the environment. */
export type Env = Readonly<Record<string, string | undefined>>

/**
 * Opens an inbox, and what is sealed in it with the keys in `INBOX_KEYS`.
 *
 * @param patienceMs for a file that is locked: see `openInbox`
 */
export async function openInboxOf(options: InboxOptions, env: Env = {}, patienceMs?: number): Promise<OpenInbox> {
  const { inbox, close, missing } = await openEngine(options, patienceMs)
  return Object.assign(sealedInbox(inbox, { keys: env.INBOX_KEYS || NO_KEYS }), {
    missing,
    [Symbol.asyncDispose]: async () => close(),
  })
}

/** Opens an inbox as `openInboxOf` does, and ends the command if there is none. */
export async function openExisting(options: InboxOptions, env: Env, patienceMs?: number): Promise<OpenInbox> {
  const inbox = await openInboxOf(options, env, patienceMs)
  if (inbox.missing === undefined) return inbox
  await inbox[Symbol.asyncDispose]()
  throw new ConfigurationError('database_unusable', inbox.missing)
}

/** Without keys, errors of tries are shown as sealed. */
const NO_KEYS: SealKeys = {
  current: () => Promise.reject(new Error('commands put nothing into an inbox')),
  find: () => undefined,
}

async function openEngine(options: InboxOptions, patienceMs?: number): Promise<EngineInbox> {
  const engine = findEngine(options)
  if (engine === 'sqlite') return openInbox(`${options.sqlite}`, options.table, patienceMs)
  if (engine === 'postgres') return openPostgresInbox(...readPostgres(options))
  const { redis: address = '', queue, prefix } = readAddress('redis', options)
  // With another path, ioredis would end the process.
  if (!/^\/?\d*$/.test(new URL(address).pathname))
    throw usageError('The path of a Redis URL is the number of a database, as in redis://HOST:PORT/0.')
  const { openBullmqInbox } = await loadBullmq()
  return openBullmqInbox({ connection: { url: address }, queue, prefix })
}

export async function migrateInbox(options: InboxOptions): Promise<void> {
  const { close } = await openPostgresInbox(...readPostgres(options), (inbox) => inbox.migrate())
  await close()
}

function readPostgres(options: InboxOptions): [url: string, name: TableName] {
  const { postgres = '', schema, table } = readAddress('postgres', options)
  return [postgres, { schema, table }]
}

/** Checks a URL, and reads the options behind its `?`. The message does not repeat it, since it may contain a password. */
function readAddress(engine: Engine, options: InboxOptions): InboxOptions {
  const { [engine]: text = '' } = options
  if (URL.canParse(text) && ENGINES[engine].address.test(text)) {
    const split = splitAddress(engine, text)
    const both = DETAILS.find((name) => (split[name] ?? options[name]) !== (options[name] ?? split[name]))
    if (both !== undefined) throw usageError(`Give --${both} or ?${both}= of the URL, not both.`)
    return { ...options, ...split }
  }
  const meant = NAMES.find((name) => ENGINES[name].address.test(text))
  throw usageError(
    `That is not a URL: give redis://HOST:PORT, rediss:// or postgres://HOST/DATABASE. ${meant === undefined ? `--${engine} takes ${ENGINES[engine].form}` : `For this one, use --${meant}, not --${engine}`}.`,
  )
}

function findEngine(options: InboxOptions): Engine {
  const given = NAMES.filter((engine) => options[engine] !== undefined)
  const [engine, ...others] = given
  if (engine === undefined || others.length > 0) {
    const names = given.map((name) => `--${name}`).join(' and ')
    const fix = engine === undefined ? '' : ` ${names} are several; give one.`
    throw usageError(`Name the inbox: --sqlite FILE, --redis URL or --postgres URL.${fix}`)
  }
  const allowed: readonly Detail[] = ENGINES[engine].details
  const stray = DETAILS.find((name) => options[name] !== undefined && !allowed.includes(name))
  if (stray !== undefined) throw usageError(`--${stray} is not for an inbox of --${engine}.`)
  return engine
}

/** Loads BullMQ, an optional peer. */
async function loadBullmq() {
  try {
    return await import('../inboxes/open-bullmq-inbox.ts')
  } catch (cause) {
    if (Object(cause).code !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw new ExitError('unreachable', 'bullmq is not installed here.', {
      cause,
      fix: 'In the folder of the app: npm install bullmq ioredis',
    })
  }
}

/** Writes these options for a shell. Passwords are left out. */
export function writeInboxOptions(options: InboxOptions): string {
  return listInboxOptions(options)
    .map((word, index) => (index % 2 === 0 ? word : toWord(word)))
    .join(' ')
}

/** Lists these options with their values. Passwords are left out. */
export function listInboxOptions(options: InboxOptions): readonly string[] {
  return [...NAMES, ...DETAILS].flatMap((name) =>
    options[name] === undefined ? [] : [`--${name}`, withoutPassword(options[name])],
  )
}

/** Both drivers take a password in the query as well. */
function withoutPassword(text: string): string {
  return text.replace(/^(\w+:\/\/[^/?#:@]*:)[^/?#]*@/, '$1***@').replace(/([?&][^=&#]*pass[^=&#]*=)[^&#]*/gi, '$1***')
}

/** Reads an item. Ends the command if there is none. */
export async function getEntry(inbox: Inbox, key: string, options: InboxOptions): Promise<InboxEntry> {
  const entry = await inbox.get(key)
  if (entry !== undefined) return entry
  const why = /^\d+:/.test(key)
    ? 'it was handled or dropped'
    : 'a key, such as 7:default4:acme5:evt_1, stands in the column KEY of a list'
  const message = `The inbox has no event of the key ${toPrintable(key)}: ${why}.`
  const fix = `To see what there is: npx postern inbox list ${writeInboxOptions(options)}`
  throw new ExitError('failed', message, { fix })
}

import type { RedisOptions } from 'bullmq'
import { ANY, findNearest, type Kind, OptionChecker, TEXT, whole } from '../../../src/engine.ts'
import { DEAD_LETTER, DEFAULT_DEAD_LETTER_MS } from '../../stores/dead-letters.ts'

/** Options of an inbox on Redis. */
export interface BullmqInboxOptions {
  /** A URL (`redis://`, `rediss://`), or options from which BullMQ creates its ioredis clients. The inbox has its own clients. */
  readonly connection: string | RedisOptions
  /** Name of the BullMQ queue. Default `postern`. */
  readonly queue?: string | undefined
  /** Prefix of the queue's keys, as BullMQ's option of this name. Default `bull`. */
  readonly prefix?: string | undefined
  /** The time for which dead letters are kept, in milliseconds. Default 30 days. */
  readonly deadLetterMs?: number | undefined
}

export type Checked = ReturnType<typeof checkOptions>

const NAME: Kind = (value) =>
  typeof value === 'string' && /^[\w.-]{1,100}$/.test(value)
    ? undefined
    : 'a name of letters, digits, dots, underscores and hyphens'
/** In a cluster, all keys of a queue have to be in one slot, which braces say. */
const PREFIX: Kind = (value) =>
  typeof value === 'string' && /^\{[\w.-]{1,98}\}$/.test(value) ? undefined : NAME(value)

const check = new OptionChecker('bullmqInbox')

/** @throws ConfigurationError `option_invalid`, `option_unknown` */
export function checkOptions(options: BullmqInboxOptions) {
  const kinds = { connection: ANY, queue: NAME, prefix: PREFIX, deadLetterMs: DEAD_LETTER }
  check.mustFit(options, kinds, ['connection'])
  const { connection, queue = 'postern', prefix = 'bull', deadLetterMs = DEFAULT_DEAD_LETTER_MS } = options
  return { connection: toObject(connection), deadLetterMs, queue, prefix }
}

function toObject(connection: unknown): RedisOptions {
  const isText = typeof connection === 'string'
  if (isText ? /[?&]keyPrefix=/.test(connection) : Object(connection).keyPrefix)
    throw check.invalid('connection has a keyPrefix, with which BullMQ cannot work; give prefix beside connection.')
  if (isText) {
    if (/^rediss?:\/\//.test(connection)) return { url: connection }
    // The URL is not shown: it may hold a password.
    throw check.invalid(
      'connection is not a URL of redis:// or rediss://. For Postgres, use postgresInbox of postern/postgres.',
    )
  }
  const isClient = typeof connection === 'object' && connection !== null && 'on' in connection
  if (connection instanceof Promise) throw check.invalid('connection is a promise; await it first.')
  if (typeof connection !== 'object' || connection === null || isClient)
    throw check.invalid(
      `connection is ${isClient ? 'a client' : 'missing'}; give a URL, or the options of one, such as { host, port }. The inbox creates its own clients, since those that accept events must fail fast.`,
    )
  refuseMisspelt(connection)
  for (const [name, kind] of Object.entries(KINDS)) {
    const value = Reflect.get(connection, name)
    if (value !== undefined && value !== null) ofConnection.mustBe(name, value, kind)
  }
  return connection
}

const ofConnection = new OptionChecker('bullmqInbox: connection')
const toWhole =
  (most: number): Kind =>
  (value) =>
    whole(0, most)(/^\d+$/.test(String(value)) ? Number(value) : Number.NaN) // as text from the environment
const KINDS = { host: TEXT, port: toWhole(65_535), db: toWhole(1_000_000) }

/** Options of ioredis. It takes any other one in silence, and would connect to another server, or without a password. */
const CONNECTION =
  'url host port path family db username password tls name role sentinels sentinelUsername sentinelPassword sentinelTLS natMap keyPrefix connectionName connectTimeout commandTimeout socketTimeout keepAlive noDelay readOnly monitor protocol scripts lazyConnect retryStrategy reconnectOnError maxRetriesPerRequest enableOfflineQueue enableReadyCheck'.split(
    ' ',
  )
const SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  url: ['connectionstring', 'redisurl', 'redis', 'endpoint'],
  host: ['hostname', 'socket', 'server', 'address'],
  username: ['user'],
  password: ['pass', 'auth_pass', 'auth'],
  db: ['database'],
  tls: ['ssl'],
}

/** Refuses what resembles an option that is not given: others may be those of another version of ioredis. */
function refuseMisspelt(connection: object): void {
  for (const stray of Object.keys(connection).filter((name) => !CONNECTION.includes(name))) {
    const [synonym] = Object.entries(SYNONYMS).find(([, words]) => words.includes(stray.toLowerCase())) ?? []
    const meant = synonym ?? findNearest(stray, CONNECTION)
    if (meant !== undefined && !(meant in connection))
      ofConnection.mustHaveOnly({ [stray]: true }, CONNECTION, () => `Did you mean "${meant}"?`)
  }
}

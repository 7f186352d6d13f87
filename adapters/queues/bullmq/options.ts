import type { PostgresPoolConfig, RedisOptions } from 'bullmq'
import { OptionChecker } from '../../../src/index.ts'

interface CommonOptions {
  /** Name of the BullMQ queue. Default `postern`. */
  readonly queue?: string
  /** The time for which dead letters are kept, in milliseconds. Default 30 days. */
  readonly deadLetterMs?: number
}

/** Options of an inbox on Redis. */
export interface BullmqRedisOptions extends CommonOptions {
  /** A URL (`redis://`, `rediss://`), or options from which BullMQ creates its ioredis clients. The inbox has its own clients. */
  readonly connection: string | RedisOptions
  readonly backend?: 'redis'
  /** Prefix of the queue's keys, as BullMQ's option of this name. Default `bull`. */
  readonly prefix?: string
}

/** Options of an inbox on Postgres. */
export interface BullmqPostgresOptions extends CommonOptions {
  /** A URL (`postgres://`), or options from which BullMQ creates its `pg` pool, including `schema` and `migrate`. */
  readonly connection: string | PostgresPoolConfig
  /** Not needed with a URL. */
  readonly backend: 'postgres'
}

/** BullMQ's engine: Redis, or its Postgres backend. */
export type BullmqInboxOptions = BullmqRedisOptions | BullmqPostgresOptions | BullmqUrlOptions

/** A URL names its backend by its scheme. */
interface BullmqUrlOptions extends CommonOptions {
  readonly connection: string
}

/** Options after the check. */
export interface Checked {
  readonly backend: 'redis' | 'postgres'
  readonly connection: RedisOptions | PostgresPoolConfig
  readonly prefix: string
  readonly queue: string
  readonly deadLetterMs: number
}

export const DAY_MS = 86_400_000
const KNOWN = ['connection', 'backend', 'queue', 'prefix', 'deadLetterMs']
const NAME = /^[A-Za-z0-9._-]{1,100}$/

const check = new OptionChecker('bullmqInbox')

/** @throws ConfigurationError `option_invalid`, `option_unknown` */
export function checkOptions(options: BullmqInboxOptions): Checked {
  check.isObject(options, '{ connection }')
  const given: Partial<Record<string, unknown>> = { ...options }
  const { connection, backend, queue = 'postern', prefix, deadLetterMs = 30 * DAY_MS, ...unknown } = given
  check.isKnown(unknown, KNOWN)
  check.isWhole('deadLetterMs', deadLetterMs, DAY_MS, 3_650 * DAY_MS, 'milliseconds')
  const kind = checkBackend(connection, backend)
  if (kind === 'postgres' && prefix !== undefined)
    throw check.invalid('prefix is for Redis; on Postgres, set connection.schema.')
  return {
    backend: kind,
    connection: toObject(connection, kind),
    deadLetterMs: Number(deadLetterMs),
    queue: checkName('queue', queue),
    prefix: checkName('prefix', prefix ?? 'bull'),
  }
}

function checkBackend(connection: unknown, backend: unknown): Checked['backend'] {
  if (backend !== undefined && backend !== 'redis' && backend !== 'postgres')
    throw check.invalid(`backend is ${JSON.stringify(backend)}; give "redis" or "postgres".`)
  if (typeof connection !== 'string') return backend ?? 'redis'
  const ofUrl = /^rediss?:\/\//.test(connection)
    ? 'redis'
    : /^postgres(ql)?:\/\//.test(connection)
      ? 'postgres'
      : undefined
  // The URL is not shown: it may hold a password.
  if (ofUrl === undefined) throw check.invalid('connection is not a URL of redis://, rediss:// or postgres://.')
  if (backend !== undefined && backend !== ofUrl)
    throw check.invalid(`connection is a URL of ${ofUrl}, but backend is "${backend}".`)
  return ofUrl
}

function toObject(connection: unknown, kind: Checked['backend']): Checked['connection'] {
  if (typeof connection === 'string') return kind === 'redis' ? { url: connection } : { connectionString: connection }
  const isClient = typeof connection === 'object' && connection !== null && 'on' in connection
  if (typeof connection !== 'object' || connection === null || isClient)
    throw check.invalid(
      `connection is ${isClient ? 'a client' : 'missing'}; give a URL, or the options of one, such as { host, port }. The inbox creates its own clients, since those that accept events must fail fast.`,
    )
  return connection
}

function checkName(name: string, value: unknown): string {
  if (typeof value === 'string' && NAME.test(value)) return value
  throw check.invalid(
    `${name} is ${JSON.stringify(value)}; give a name of letters, digits, dots, underscores and hyphens.`,
  )
}

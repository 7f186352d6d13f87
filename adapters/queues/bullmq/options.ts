import type { RedisOptions } from 'bullmq'
import { OptionChecker } from '../../../src/engine.ts'
import { checkDeadLetterMs } from '../../stores/dead-letters.ts'

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

const NAME = /^[A-Za-z0-9._-]{1,100}$/

const check = new OptionChecker('bullmqInbox')

/** @throws ConfigurationError `option_invalid`, `option_unknown` */
export function checkOptions(options: BullmqInboxOptions) {
  check.mustBeObject(options, '{ connection }')
  const { connection, queue = 'postern', prefix = 'bull', deadLetterMs } = options
  check.mustHaveOnly(options, ['connection', 'queue', 'prefix', 'deadLetterMs'])
  return {
    connection: toObject(connection),
    deadLetterMs: checkDeadLetterMs(check, deadLetterMs),
    queue: checkName('queue', queue),
    prefix: checkName('prefix', prefix),
  }
}

function toObject(connection: unknown): RedisOptions {
  if (typeof connection === 'string') {
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
  return connection
}

function checkName(name: string, value: unknown): string {
  if (typeof value === 'string' && NAME.test(value)) return value
  throw check.invalid(
    `${name} is ${JSON.stringify(value)}; give a name of letters, digits, dots, underscores and hyphens.`,
  )
}

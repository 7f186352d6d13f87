import * as z from 'zod'
import { type Clock, LONGEST_TIMER_MS } from '../host/clock.ts'
import { parseDuration } from '../host/duration.ts'
import { consoleLogger, type Logger } from '../host/logger.ts'
import type { Inbox } from '../inbox/inbox.ts'
import { ConfigurationError } from '../protocol/errors.ts'
import { OptionChecker } from '../protocol/option-checker.ts'
import { SERVICE_DEADLINE_MS } from '../protocol/schedule.ts'
import { BODY_FORMATS, type BodyFormat } from '../wire/json-forms.ts'
import { type Account, SEEDED_ACCOUNTS } from './accounts.ts'
import type { Assumed, AssumedOptions } from './assumptions.ts'
import { account } from './check-input.ts'
import { assumeAll, type Dialect } from './dialects.ts'
import type { DeliveryFaults } from './faults.ts'
import type { EmulatorDatabase } from './journal.ts'
import type { RateLimit } from './rate-limit.ts'

/** What is looked at of an inbox, and done with it by hand. */
export type InboxView = Pick<Inbox, 'counts' | 'list' | 'get' | 'replay' | 'drop'>

/** A length of time: milliseconds, or text such as `30s`, `5m30s` or `2h`. */
export type Duration = number | string

/** All of it is optional: `startEmulator()` makes a service that starts empty and forgets everything at its end. */
export interface EmulatorOptions {
  /** Default 0, which takes a free one. False: none; `emulator.fetch` alone answers. */
  readonly port?: number | false
  /** The address that is listened on. Default 127.0.0.1. */
  readonly host?: string
  /** Names besides those of loopback by which the emulator may be called, such as its name in a compose file. */
  readonly hostAllow?: readonly string[]
  /** `manual`, or a clock of `manualClock()`: time stands still until it is moved. Default: the machine's. */
  readonly clock?: Clock | 'manual'
  /** Divides the delays between attempts, and nothing else. Default 1. */
  readonly retryScale?: number
  /** Longest wait of an attempt for a 2xx. Default 10 s. */
  readonly deadline?: Duration
  /** Life of an access token. Default 1 h. */
  readonly tokenTtl?: Duration
  /** Requests of a token in a window, for example `600/60s`, which is the default. */
  readonly rateLimit?: string
  /** Logins from an address in a window. Default `60/60s`. */
  readonly loginRateLimit?: string
  /** Format of bodies. Default `spaced`, which a receiver that signs JSON.stringify(parsed) fails on. */
  readonly format?: BodyFormat
  /** Sends ids of the emulator along with each attempt. Default false. */
  readonly debugHeaders?: boolean
  /** One attempt at a time for each webhook. Default false: eight. */
  readonly ordered?: boolean
  readonly faults?: FaultOptions
  /** Seed of ids and faults: every run has the same. Secrets and tokens are never foreseeable. */
  readonly seed?: string | number
  /** Way in which the service may turn out to answer. Default `default`. */
  readonly dialect?: Dialect
  /** Single assumptions that differ from the dialect, by name or id: `{ listBody: 'items' }` or `{ A04: 'items' }`. */
  readonly assume?: AssumedOptions
  /** Accounts besides `acme` and `globex`. */
  readonly accounts?: readonly Account[]
  /** Database for all that is to outlive the process, opened by `openSqlite` of `postern/sqlite`. The caller closes it after the emulator. */
  readonly database?: EmulatorDatabase
  /** The inbox of the receiver: the inspector joins deliveries with what waits, runs and is dead there. */
  readonly inbox?: InboxView
  /** Default: the console, for warnings and errors. */
  readonly logger?: Logger
}

/** Faults of deliveries, at random. */
export interface FaultOptions {
  /** The share of attempts that fail before anything is sent, from 0 to 1. */
  readonly fail?: number
  /** The share of attempts that are sent twice, concurrently. */
  readonly duplicate?: number
  /** Deliveries that are due leave in any order. */
  readonly shuffle?: boolean
  /** Wait of an attempt before it is sent, such as `200ms`, or from and to, such as `['50ms', '500ms']`. */
  readonly latency?: Duration | readonly [Duration, Duration]
}

/** Checked options. */
export interface Settings {
  readonly port: number | false
  readonly host: string
  readonly hostAllow: readonly string[]
  readonly clock: Clock | 'manual' | undefined
  readonly retryScale: number
  readonly deadlineMs: number
  readonly tokenTtlMs: number
  readonly rateLimit: RateLimit
  readonly loginRateLimit: RateLimit
  readonly format: BodyFormat
  readonly debugHeaders: boolean
  readonly ordered: boolean
  readonly faults: DeliveryFaults
  readonly seed: string | undefined
  readonly assumed: Assumed
  readonly dialect: string
  readonly accounts: readonly Account[]
  readonly database: EmulatorDatabase | undefined
  readonly inbox: InboxView | undefined
  readonly logger: Logger
}

const duration = z.union([z.number(), z.string()]).transform((value, context) => {
  try {
    return parseDuration(value)
  } catch (error) {
    context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : String(error) })
    return z.NEVER
  }
})
const NOTHING = 'must be more than nothing'
const positive = duration.refine((ms) => ms > 0, NOTHING)
const TOO_LONG = `must be at most ${LONGEST_TIMER_MS} ms, the longest time that a timer takes`
const timed = duration.refine((ms) => ms <= LONGEST_TIMER_MS, TOO_LONG)

const rateLimit = z.string().transform((text, context): RateLimit => {
  const [, limit = '', window = ''] = /^(\d+)\/(.+)$/.exec(text) ?? []
  const windowMs = duration.safeParse(window)
  if (Number(limit) > 0 && windowMs.success && windowMs.data > 0)
    return { limit: Number(limit), windowMs: windowMs.data }
  context.addIssue({ code: 'custom', message: `${JSON.stringify(text)} is no rate: write 600/60s` })
  return z.NEVER
})

const share = z.number().min(0).max(1)

/** Also what `POST /_emulator/faults` takes. */
export const deliveryFaults = z
  .strictObject({
    fail: share.default(0),
    duplicate: share.default(0),
    shuffle: z.boolean().default(false),
    latency: z.union([z.tuple([timed, timed]), timed.transform((ms): [number, number] => [ms, ms])]).optional(),
  })
  .transform(({ latency, ...rest }): DeliveryFaults => ({ ...rest, latencyMs: latency }))

const object = <T extends object>(told: string) =>
  z.custom<T>((value) => typeof value === 'object' && value !== null, told)

const schema = z.strictObject({
  port: z.union([z.literal(false), z.number().int().min(0).max(65_535)]).default(0),
  host: z.string().min(1).default('127.0.0.1'),
  hostAllow: z.array(z.string().min(1)).default([]),
  clock: z.union([z.literal('manual'), object<Clock>('must be a clock')]).optional(),
  // Slower, times of attempts would be no dates any more.
  retryScale: z.number().min(0.001).finite().default(1),
  deadline: timed.refine((ms) => ms > 0, NOTHING).default(SERVICE_DEADLINE_MS),
  tokenTtl: positive.default(3_600_000),
  rateLimit: rateLimit.default({ limit: 600, windowMs: 60_000 }),
  loginRateLimit: rateLimit.default({ limit: 60, windowMs: 60_000 }),
  format: z.enum(BODY_FORMATS).default('spaced'),
  debugHeaders: z.boolean().default(false),
  ordered: z.boolean().default(false),
  faults: deliveryFaults.prefault({}),
  seed: z.union([z.string(), z.number()]).transform(String).optional(),
  dialect: z.string().default('default'),
  assume: z.record(z.string(), z.string()).default({}),
  accounts: z.array(account).default([]),
  database: object<EmulatorDatabase>('must be a database that openSqlite of postern/sqlite opened').optional(),
  inbox: object<InboxView>('must be an inbox, such as that of sqliteInbox').optional(),
  logger: object<Logger>('must be an object').default(consoleLogger),
})

/** @throws ConfigurationError `option_unknown`, `option_invalid` */
export function checkOptions(options: EmulatorOptions): Settings {
  const checked = schema.safeParse(options)
  if (!checked.success) throw toError(checked.error.issues)
  const { deadline, tokenTtl, assume, seed, clock, database, inbox, ...rest } = checked.data
  const check = new OptionChecker('startEmulator')
  if (clock !== undefined && clock !== 'manual')
    check.hasMethods('clock', clock, ['now', 'monotonic', 'setTimeout', 'clearTimeout'])
  if (database !== undefined) check.hasMethods('database', database, ['exec', 'prepare', 'pragma', 'transaction'])
  if (inbox !== undefined) check.hasMethods('inbox', inbox, ['counts', 'list', 'get', 'replay', 'drop'])
  check.hasMethods('logger', rest.logger, ['debug', 'info', 'warn', 'error'])
  const accounts = [...SEEDED_ACCOUNTS, ...rest.accounts]
  const [key, email] = [findTwice(accounts.map((each) => each.key)), findTwice(accounts.map((each) => each.email))]
  if (key !== undefined) throw check.invalid(`two accounts have the key ${key}; give each another.`)
  if (email !== undefined) throw check.invalid(`two accounts have the user ${email}; give each another.`)
  return {
    ...rest,
    seed,
    clock,
    database,
    inbox,
    deadlineMs: deadline,
    tokenTtlMs: tokenTtl,
    assumed: assumeAll(rest.dialect, assume),
    accounts,
  }
}

function findTwice(texts: readonly string[]): string | undefined {
  return texts.find((text, index) => texts.indexOf(text) < index)
}

function toError(issues: readonly z.core.$ZodIssue[]): ConfigurationError {
  const stray = issues.find((issue) => issue.code === 'unrecognized_keys')
  if (stray !== undefined)
    return new ConfigurationError(
      'option_unknown',
      `startEmulator has no option "${stray.keys[0]}"${stray.path.length > 0 ? ` in ${stray.path.join('.')}` : ''}. It takes ${Object.keys(schema.shape).join(', ')}.`,
    )
  const told = issues.map(({ path, message }) => (path.length > 0 ? `${path.join('.')}: ${message}` : message))
  return new ConfigurationError('option_invalid', `startEmulator: ${told.join('; ')}`)
}

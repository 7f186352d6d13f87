import * as z from 'zod'
import { type Clock, LONGEST_TIMER_MS } from '../../src/host/clock.ts'
import { consoleLogger, type Logger } from '../../src/host/logger.ts'
import type { Inbox } from '../../src/inbox/inbox.ts'
import { ConfigurationError } from '../../src/protocol/errors.ts'
import { SIGNATURE_HEADER } from '../../src/protocol/head.ts'
import { OptionChecker, tellKnown } from '../../src/protocol/option-checker.ts'
import { SERVICE_DEADLINE_MS } from '../../src/protocol/schedule.ts'
import { SIGNATURE_NAME } from '../../src/protocol/signature-name.ts'
import { BODY_FORMATS, type BodyFormat } from '../wire/json-forms.ts'
import { type Account, SEEDED_ACCOUNTS } from './accounts.ts'
import type { AssumedOptions } from './assumptions.ts'
import { account, duration, must, namesAt, tellIssues, tellMust } from './check-input.ts'
import { assumeAll, type Dialect } from './dialects.ts'
import type { EmulatorDatabase } from './journal.ts'
import type { RateLimit } from './rate-limit.ts'

/** Part of an inbox that the inspector reads, and changes by hand. */
export type InboxView = Pick<Inbox, 'counts' | 'list' | 'get' | 'replay' | 'drop' | 'commandOptions'>

/** Duration: milliseconds, or text such as `30s`, `5m30s` or `2h`. */
export type Duration = number | string

/** Options of the emulator. All are optional: `startEmulator()` starts an empty service that keeps nothing when it ends. */
export interface EmulatorOptions {
  /** Port. Default 0, for a free one. False: no port; only `emulator.fetch` answers. */
  readonly port?: number | false | undefined
  /** Address to listen on. Default 127.0.0.1. */
  readonly host?: string | undefined
  /** Allowed host names besides those of loopback, such as the name in a compose file. */
  readonly hostAllow?: readonly string[] | undefined
  /** `manual`, or a clock of `manualClock()`: time stands still until the test moves it. Default: the system clock. */
  readonly clock?: Clock | 'manual' | undefined
  /** Divisor of the delays between attempts, and of nothing else. Default 1. */
  readonly retryScale?: number | undefined
  /** Time limit of an attempt to get a 2xx. Default 10 s. */
  readonly deadline?: Duration | undefined
  /** Lifetime of an access token. Default 1 h. */
  readonly tokenTtl?: Duration | undefined
  /** Number of requests per token and window. Default `600/60s`. */
  readonly rateLimit?: string | undefined
  /** Number of logins per address and window. Default `60/60s`. */
  readonly loginRateLimit?: string | undefined
  /** Format of bodies. Default `spaced`, on which a receiver that signs JSON.stringify(parsed) fails. */
  readonly format?: BodyFormat | undefined
  /** Name of the signature header. Default `X-Service-Signature`. */
  readonly signatureHeader?: string | undefined
  /** Sends ids of the emulator in headers of each attempt. Default false. */
  readonly debugHeaders?: boolean | undefined
  /** Value of `POSTERN_DEV` in the receiver's environment, 16 characters or more: its answers then say why a handler failed, which the inspector shows. */
  readonly devToken?: string | undefined
  /** Makes one attempt at a time for each webhook. Default false: eight. */
  readonly ordered?: boolean | undefined
  /** Random faults of deliveries. Default: none. */
  readonly faults?: FaultOptions | undefined
  /** Seed that makes ids and faults the same in every run. Secrets and tokens are always unpredictable. */
  readonly seed?: string | number | undefined
  /** Dialect in which the service answers. Default `default`. */
  readonly dialect?: Dialect | undefined
  /** Single assumptions that differ from the dialect, by name or id: `{ listBody: 'items' }` or `{ A04: 'items' }`. */
  readonly assume?: AssumedOptions | undefined
  /** Accounts besides `acme` and `globex`. */
  readonly accounts?: readonly Account[] | undefined
  /** Database that keeps the state after the process ends, opened by `openSqlite` of `postern/sqlite`. The caller closes it after the emulator. */
  readonly database?: EmulatorDatabase | undefined
  /** Inbox of the receiver: the inspector shows the state of each delivery's event in it. */
  readonly inbox?: InboxView | undefined
  /** Logger. Default: warnings and errors on the console. */
  readonly logger?: Logger | undefined
}

/** Random faults of deliveries. */
export interface FaultOptions {
  /** Share of attempts that fail before anything is sent, from 0 to 1. */
  readonly fail?: number | undefined
  /** Share of attempts that are sent twice concurrently, from 0 to 1. */
  readonly duplicate?: number | undefined
  /** Sends due deliveries in random order. */
  readonly shuffle?: boolean | undefined
  /** Delay of an attempt before it is sent, such as `200ms`, or minimum and maximum, such as `['50ms', '500ms']`. */
  readonly latency?: Duration | readonly [Duration, Duration] | undefined
}

const NOTHING = 'must be more than 0'
const positive = duration.refine((ms) => ms > 0, NOTHING)
const TOO_LONG = `must be at most ${LONGEST_TIMER_MS} ms, the longest time that a timer takes`
const timed = duration.refine((ms) => ms <= LONGEST_TIMER_MS, TOO_LONG)

const RATE = must('text such as "600/60s"')
const rateLimit = z.string(RATE).transform((text, context): RateLimit => {
  const [, limit = '', window = ''] = /^(\d+)\/(.+)$/.exec(text) ?? []
  const windowMs = duration.safeParse(window)
  if (Number(limit) > 0 && windowMs.success && windowMs.data > 0)
    return { limit: Number(limit), windowMs: windowMs.data }
  context.addIssue({ code: 'custom', message: `${JSON.stringify(text)} is not a rate: write 600/60s` })
  return z.NEVER
})

const SHARE = must('a number from 0 to 1')
const share = z.number(SHARE).min(0, SHARE).max(1, SHARE)
const LATENCY = must(`a duration, such as "200ms", or two, the shorter first, of ${LONGEST_TIMER_MS} ms at most`)
const range = z
  .tuple([timed, timed])
  .refine(([from, to]) => from <= to, LATENCY)
  .readonly()

/** Schema of delivery faults, also for `POST /_emulator/faults`. */
export const deliveryFaults = z
  .strictObject({
    fail: share.default(0),
    duplicate: share.default(0),
    shuffle: z.boolean().default(false),
    latency: z.union([range, timed.transform((ms): z.output<typeof range> => [ms, ms])], LATENCY).optional(),
  })
  .transform(({ latency, ...rest }) => ({ ...rest, latencyMs: latency }))

/** Random faults of deliveries, after the check. */
export type DeliveryFaults = z.output<typeof deliveryFaults>

/** Schema of a fault of the next calls of the service's API. `delayMs` is for `slow`. */
export const answerFault = z.strictObject({
  answer: z.enum(['401', '429', '500', 'slow', 'reset']),
  count: z.number().int().min(1).max(1_000).default(1),
  delayMs: z.number().min(0).max(600_000).default(5_000),
})

export type AnswerFault = z.output<typeof answerFault>

/** Schema of an object that has these methods. */
const withMethods = <T extends object>(told: string, methods: readonly (keyof T & string)[]) => {
  const isMethod = (value: unknown, name: string) => typeof Object(value)[name] === 'function'
  return z.custom<T>((value) => methods.every((name) => isMethod(value, name)), `${told}, with ${methods.join(', ')}`)
}

const CLOCK = ['now', 'monotonic', 'setTimeout', 'clearTimeout'] as const

const accounts = z
  .array(account)
  .default([])
  .refine((added) => new Set(added.map(({ key }) => key)).size === added.length, 'must have different keys')
  .transform((added): readonly Account[] => [...SEEDED_ACCOUNTS, ...added])

const PORT = must('a whole number from 0 to 65535, or false')
const PORT_NUMBER = z.number(PORT).int(PORT).min(0, PORT).max(65_535, PORT)
const SCALE = must('a number from 0.001')

const HOST = must('one name or address, without a scheme, a port and *')
const hostName = z
  .string(HOST)
  .min(1, HOST)
  .regex(/^[^/:*]+$|^\[?[\da-f]*:[\da-f:.]*:[\da-f:.]*\]?$/i, HOST)

const schema = z.strictObject({
  port: z.union([z.literal(false), PORT_NUMBER], PORT).default(0),
  host: hostName.default('127.0.0.1'),
  hostAllow: z.array(hostName).default([]),
  clock: z
    .union(
      [z.literal('manual'), withMethods<Clock>('', CLOCK)],
      `must be "manual" or a clock, with ${CLOCK.join(', ')}`,
    )
    .optional(),
  // With a smaller value, the times of attempts would exceed the range of dates.
  retryScale: z.number(SCALE).min(0.001, SCALE).finite(SCALE).default(1),
  deadline: timed.refine((ms) => ms > 0, NOTHING).default(SERVICE_DEADLINE_MS),
  tokenTtl: positive.default(3_600_000),
  rateLimit: rateLimit.default({ limit: 600, windowMs: 60_000 }),
  loginRateLimit: rateLimit.default({ limit: 60, windowMs: 60_000 }),
  format: z.enum(BODY_FORMATS).default('spaced'),
  signatureHeader: z.string().default(SIGNATURE_NAME),
  debugHeaders: z.boolean().default(false),
  devToken: z
    .string()
    .regex(/^[\w-]{16,}$/, 'must be 16 letters, digits, _ or -, or more')
    .optional(),
  ordered: z.boolean().default(false),
  faults: deliveryFaults.prefault({}),
  seed: z.union([z.string(), z.number()], must('a string or a number')).transform(String).optional(),
  dialect: z.string().default('default'),
  assume: z.record(z.string(), z.string().optional()).default({}),
  accounts,
  database: withMethods<EmulatorDatabase>('must be a database that openSqlite of postern/sqlite opened', [
    'exec',
    'prepare',
    'pragma',
    'transaction',
  ]).optional(),
  inbox: withMethods<InboxView>('must be an inbox, such as that of sqliteInbox', [
    'counts',
    'list',
    'get',
    'replay',
    'drop',
  ]).optional(),
  logger: withMethods<Logger>('must be a logger', ['debug', 'info', 'warn', 'error']).default(consoleLogger),
})

/** Options of the emulator after the check. */
export type EmulatorSettings = ReturnType<typeof checkEmulatorOptions>

/** @throws ConfigurationError `option_unknown`, `option_invalid` */
export function checkEmulatorOptions(options: EmulatorOptions) {
  const check = new OptionChecker('startEmulator')
  check.mustBeObject(options, '{ port: 4010 }')
  const checked = schema.safeParse(options, { error: tellMust })
  if (!checked.success) throw toError(checked.error)
  check.mustBe('signatureHeader', checked.data.signatureHeader, SIGNATURE_HEADER)
  const { deadline: deadlineMs, tokenTtl: tokenTtlMs, assume, ...rest } = checked.data
  const { logger } = rest
  const tellIfSeconds = (name: string, ms: unknown, least: number) => {
    if (typeof ms === 'number' && ms > 0 && ms < least)
      logger.warn({}, `startEmulator: ${name} is ${ms} milliseconds; if seconds are meant, give "${ms}s"`)
  }
  tellIfSeconds('deadline', options.deadline, 100)
  tellIfSeconds('tokenTtl', options.tokenTtl, 10_000)
  for (const ms of [options.faults?.latency].flat()) tellIfSeconds('faults.latency', ms, 10)
  return { ...rest, deadlineMs, tokenTtlMs, assumed: assumeAll(rest.dialect, assume) }
}

function toError(error: z.ZodError): ConfigurationError {
  const stray = error.issues.find((issue) => issue.code === 'unrecognized_keys')
  if (stray === undefined)
    return new ConfigurationError('option_invalid', `startEmulator: ${tellIssues(error, schema).join('; ')}`)
  const [name = ''] = stray.keys
  const where = stray.path.length > 0 ? ` in ${stray.path.join('.')}` : ''
  const isFault = stray.path.length === 0 && namesAt(schema, ['faults']).includes(name)
  const hint = isFault ? `It is an option of faults: { ${name} }.` : undefined
  const fix = tellKnown(name, namesAt(schema, stray.path), hint)
  return new ConfigurationError('option_unknown', `startEmulator has no option "${name}"${where}. ${fix}`)
}

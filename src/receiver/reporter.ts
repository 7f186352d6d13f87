import { consoleLogger, type LogFields, type Logger } from '../host/logger.ts'
import { readNodeEnv } from '../host/node-env.ts'
import type { TakenItem } from '../inbox/inbox.ts'
import type { TryLine } from '../inbox/try-line.ts'
import { HandlerError, PosternError } from '../protocol/errors.ts'
import type { Outcome } from '../protocol/outcome.ts'
import { isThenable } from '../protocol/promises.ts'
import type { Issue } from '../protocol/schema.ts'
import type { Observer, Watch } from './observer.ts'
import type { ReceiverSettings } from './options.ts'

/** The most paths of issues in one line, and the most characters of each. */
const MOST_PATHS = 10
const LONGEST_PATH = 100
/** Minimum time between two lines about refusals of one kind, in milliseconds: anyone can cause any number of them. */
const QUIET_MS = 1_000

type ReporterSettings = Pick<ReceiverSettings, 'logger' | 'clock' | 'onOutcome' | 'onError'>

/** Codes of failed tries whose cause fails every event: their lines are limited to one a second. */
const REPEATED = new Set<unknown>(['store_unavailable', 'no_handlers', 'unexpected'])

/** Facts of a delivery that are reported with its outcome. */
interface Reported {
  readonly item?: TakenItem
  readonly source: string | undefined
  /** On the monotonic clock. */
  readonly startedAt: number
  readonly watch: Watch | undefined
}

/** Reports to the owner, through hooks and the logger. Their errors do not affect deliveries. */
export class Reporter {
  /** Wraps the owner's logger: what it throws is caught and reported. */
  readonly logger: Logger
  observer: Observer | undefined
  readonly #settings: ReporterSettings
  readonly #refusals = new Map<string, { readonly since: number; untold: number }>()
  readonly #toldOnce = new Map<string, number>()
  readonly #failedHooks = new Set<string>()

  constructor(settings: ReporterSettings) {
    this.#settings = settings
    this.logger = {
      debug: (fields, message) => this.#log('debug', fields, message),
      info: (fields, message) => this.#log('info', fields, message),
      warn: (fields, message) => this.#log('warn', fields, message),
      error: (fields, message) => this.#log('error', fields, message),
    }
  }

  /** Runs `work`, under the observer's watch if there is an observer. */
  watch<T>(about: Parameters<Observer['begin']>[0], work: (watch?: Watch) => T): T {
    const watch = this.observer?.begin(about)
    return watch === undefined ? work() : watch.with(() => work(watch))
  }

  outcome(outcome: Outcome, { item, source, startedAt, watch }: Reported): void {
    const { onOutcome, clock, logger } = this.#settings
    if (onOutcome !== undefined || watch !== undefined) {
      const info = { source, durationMs: clock.monotonic() - startedAt }
      // A copy, so that the hook cannot change the answer. Spreading widens the union.
      if (onOutcome !== undefined) this.callHook('onOutcome', onOutcome, { ...outcome } as Outcome, info)
      watch?.onOutcome(outcome, info)
    }
    const kind = outcome.outcome
    if (kind === 'failed' || kind === 'error') return // reported as an error before
    if (item !== undefined && kind !== 'handled' && kind !== 'duplicate') return // the worker logs its tries
    if (kind === 'rejected' || kind === 'overloaded') {
      const toFields = () => fieldsOf(outcome, source)
      return this.#sparingly('warn', kind === 'rejected' ? outcome.code : kind, toMessage(outcome), toFields)
    }
    // The default logger drops debug lines, and most deliveries end here.
    if (kind !== 'late' && logger === consoleLogger) return
    this.#log(kind === 'late' ? 'warn' : 'debug', fieldsOf(outcome, source), toMessage(outcome))
  }

  /** @param of the request that failed. Errors of a worker's try are collected, and logged in one line with its result. */
  error(error: PosternError, of?: { readonly errors?: PosternError[] | undefined }): void {
    this.#tellOnError(error)
    if (of?.errors !== undefined) of.errors.push(error)
    else this.#log('error', { code: error.code, ...aboutEvent(error), err: error }, error.message)
  }

  /** Logs the line about a worker's try. */
  tell({ level, message, fields, outcome, deadLetter }: TryLine): void {
    if (deadLetter !== undefined) this.#tellOnError(deadLetter)
    const toFields = () => ({ ...fields, ...(outcome && toIssueFields(outcome)) })
    if (REPEATED.has(fields.code)) this.#sparingly(level, String(fields.code), message, toFields)
    else this.#log(level, toFields(), message)
  }

  /** Reports an error that anyone can cause at will: each time to `onError`, at most once a second to the log. */
  errorSparingly(error: PosternError): void {
    this.#tellOnError(error)
    this.#sparingly('error', error.code, error.message, () => ({ code: error.code, err: error }))
  }

  /** Reports a mistake that every delivery repeats: logs the text once, and then a count. */
  errorOnce(error: PosternError): void {
    const count = (this.#toldOnce.get(error.code) ?? 0) + 1
    this.#toldOnce.set(error.code, count)
    if (count === 1) return this.error(error)
    this.#tellOnError(error)
    this.#log('debug', { code: error.code, count }, 'reported before, and not fixed yet')
  }

  /** Warns of what may be a mistake, the first time. */
  warnOnce(message: string): void {
    if (!this.#toldOnce.has(message)) this.#log('warn', {}, message)
    this.#toldOnce.set(message, 1)
  }

  /** Calls a function of the owner, which may throw or reject. */
  callHook<Args extends readonly unknown[]>(name: string, hook: (...args: Args) => unknown, ...args: Args): void {
    try {
      const result = hook(...args)
      if (isThenable(result)) Promise.resolve(result).catch((error: unknown) => this.#hookFailed(name, error))
    } catch (error) {
      this.#hookFailed(name, error)
    }
  }

  #tellOnError(error: PosternError): void {
    const { onError } = this.#settings
    if (onError !== undefined) this.callHook('onError', onError, error)
  }

  #sparingly(level: keyof Logger, kind: string, message: string, toFields: () => LogFields): void {
    const now = this.#settings.clock.monotonic()
    const last = this.#refusals.get(kind)
    if (last !== undefined && now - last.since < QUIET_MS) {
      last.untold++
      return
    }
    this.#refusals.set(kind, { since: now, untold: 0 })
    const untold = last?.untold ?? 0
    this.#log(level, untold === 0 ? toFields() : { ...toFields(), alikeSinceLastLine: untold }, message)
  }

  #log(level: keyof Logger, fields: LogFields, message: string): void {
    this.callHook('logger', () => this.#settings.logger[level](fields, message))
  }

  #hookFailed(hook: string, cause: unknown): void {
    if (this.#failedHooks.has(hook)) return
    this.#failedHooks.add(hook)
    const message = `${hook} threw. Deliveries are not affected; if it throws again, that is not reported.`
    const error = new PosternError('hook_failed', message, { cause })
    if (hook !== 'onError') this.#tellOnError(error)
    if (hook !== 'logger') this.#log('error', { code: error.code, err: error }, error.message)
  }
}

/** Returns the log fields of the event whose handlers failed. */
function aboutEvent(error: PosternError): LogFields | undefined {
  if (!(error instanceof HandlerError)) return undefined
  const { eventId: id, eventType: type, accountKey } = error
  return { id, type, accountKey }
}

/** Returns the message of a log line about an outcome. */
function toMessage(outcome: Outcome): string {
  switch (outcome.outcome) {
    case 'rejected':
      return `delivery refused: ${outcome.reason}${outcome.issues.length > 0 ? ' onOutcome gets the issues.' : ''}`
    case 'late':
      return 'handlers are still running at the deadline; the sender was told to retry'
    case 'overloaded':
      return `delivery deferred: ${outcome.reason}`
    default:
      return outcome.outcome
  }
}

/** Returns the fields of a log line about an outcome: never a record, a secret or a signature. */
function fieldsOf(outcome: Outcome, source: string | undefined): LogFields {
  const { status, id, type, accountKey } = outcome
  const of = { status, id, type, accountKey, source }
  return {
    ...(outcome.outcome === 'rejected' && { code: outcome.code }),
    ...of,
    ...(outcome.skipped && { skipped: outcome.skipped }),
    ...(outcome.joined && { joined: true }),
    ...(outcome.late && { late: true }),
    ...toIssueFields(outcome),
  }
}

/** Omits the messages, which quote the record, and in production the paths as well, which may be keys that the sender chose. */
function toIssueFields(outcome: Outcome): LogFields | undefined {
  const issues: readonly Issue[] = outcome.outcome === 'rejected' ? outcome.issues : []
  if (issues.length === 0) return undefined
  if (readNodeEnv() === 'production') return { issues: issues.length }
  return { issues: issues.length, paths: issues.slice(0, MOST_PATHS).map(({ path }) => path.slice(0, LONGEST_PATH)) }
}

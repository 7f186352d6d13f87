import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import type { Command } from 'commander'
import { isObject } from '../../protocol/envelope.ts'
import type { WebhookEvent } from '../../protocol/events.ts'
import { readTargetUrl } from '../input/read-option.ts'
import { EXIT, ExitError, type Io } from '../io.ts'
import type { ShownAttempt, ShownDelivery } from '../output/attempt-line.ts'
import { toPrintable } from '../output/print-table.ts'
import { BASE_URL, EMULATOR_URL, type EnvOptions, readVariables } from './address.ts'

/** A delivery as the control interface tells it, with its attempts so far. */
export interface WatchedDelivery extends ShownDelivery {
  readonly webhookId: string
  readonly note?: string
  readonly attempts: readonly (ShownAttempt & { readonly url: string })[]
}

export interface EmulatorState {
  readonly retryScale: number
  readonly isManual: boolean
  readonly pending: number
  readonly faults: object
  readonly webhooks: readonly {
    readonly id: string
    readonly url: string
    readonly accountKey: string
    readonly events: readonly string[]
    readonly active: boolean
  }[]
}

/** An attempt that has ended, a delivery that was made, or that the stream has begun. Other messages have other types. */
type EmulatorMessage =
  | { readonly type: 'delivery' | 'ready' }
  | {
      readonly type: 'attempt'
      readonly delivery: ShownDelivery
      readonly attempt: ShownAttempt & { readonly url: string }
    }

/** Without a timestamp it occurs now, by the emulator's clock. */
type EmittedFields = Omit<WebhookEvent, 'timestamp'> & Partial<Pick<WebhookEvent, 'timestamp'>>

/** Settings of one call. */
interface CallSettings {
  readonly body?: object
  /** Default: Ctrl-C ends it. */
  readonly signal?: AbortSignal
  readonly withinMs?: number
  /** Fields without which the answer is not that of an emulator. */
  readonly has?: readonly string[]
}

/** An emulator that runs in another process. Ends the command with code 3 if it does not answer, or answers something else. */
export interface EmulatorClient {
  readonly url: string
  /** Calls a route below `/_emulator/`, such as `GET clock`. Returns the JSON of its answer, if it has any. */
  call(line: string, settings?: CallSettings): Promise<unknown>
  readState(settings?: CallSettings): Promise<EmulatorState>
  /** Lets an event occur, so many times with the same id. Returns the ids of the deliveries. */
  emit(event: EmittedFields, count: number): Promise<readonly string[]>
  readDelivery(id: string): Promise<WatchedDelivery>
  /** Yields what happens from now on, until the emulator ends. Rejects with the signal's reason. */
  listen(signal: AbortSignal): AsyncGenerator<EmulatorMessage>
}

/** Times as the control interface writes them. */
type Written<T, Time extends keyof T> = Omit<T, Time> & { readonly [Name in Time]: string | null }

interface WrittenDelivery extends Written<Omit<WatchedDelivery, 'attempts'>, 'nextAttemptAt'> {
  readonly attempts: readonly Written<WatchedDelivery['attempts'][number], 'at'>[]
}

export interface EmulatorUrlOptions extends EnvOptions {
  readonly emulator?: string
}

export function addEmulatorUrl(command: Command): Command {
  return command.option('--emulator <url>', `the emulator; else ${BASE_URL} says it (default: ${EMULATOR_URL})`)
}

const ANSWER_WITHIN_MS = 10_000
/** How much of a refusal is shown. */
const MAX_MESSAGE = 500

/** Ends the command with code 3 if no emulator answers, then or later. */
export async function connectToEmulator(options: EmulatorUrlOptions, io: Io): Promise<EmulatorClient> {
  const variable = (await readVariables(options, io))[BASE_URL] || undefined
  const given = options.emulator ?? variable ?? EMULATOR_URL
  // It may be in another container; it delivers only to hosts that it was told.
  const url = readTargetUrl(given, options.emulator === undefined ? BASE_URL : '--emulator', true)
  try {
    const ready = await (await send(url, 'GET ready', { signal: io.interrupt })).json()
    if (!isObject(ready) || ready.type !== 'ready') throw new Error('no ready line')
  } catch (error) {
    io.interrupt.throwIfAborted()
    const source = options.emulator === undefined && variable !== undefined ? ` (${BASE_URL})` : ''
    throw new ExitError(EXIT.unreachable, `No emulator answers at ${url.origin}${source}.`, {
      cause: error,
      fix: START,
    })
  }
  return createEmulatorClient(url, io.interrupt)
}

const START = `Start one in another terminal:
  npx postern dev --forward http://localhost:3000/webhooks --env .env.local
or name it with --emulator URL; trigger also sends straight to a receiver, with --to URL.`

function createEmulatorClient(url: URL, interrupt: AbortSignal): EmulatorClient {
  const call = async (line: string, { has = [], signal = interrupt, ...settings }: CallSettings = {}) => {
    const response = await send(url, line, { ...settings, signal })
    const text = await response.text().catch((cause: unknown) => {
      signal.throwIfAborted()
      throw goneFrom(url, cause)
    })
    const answer = readJson(text)
    if (text !== '' && answer === undefined) throw noEmulator(url)
    const hasFields = isObject(answer) || Array.isArray(answer)
    if (!has.every((name) => hasFields && name in answer)) throw noEmulator(url)
    return answer
  }
  return {
    url: url.origin,
    call,
    async readState(options) {
      const has = ['settings', 'clock', 'counts', 'faults', 'webhooks']
      const { settings, clock, counts, faults, webhooks } = (await call('GET state', {
        ...options,
        has,
      })) as StateAnswer // an emulator's
      const { retryScale } = settings
      return { retryScale, isManual: clock.isManual, pending: counts.pending, faults, webhooks }
    },
    async emit(event, count) {
      const { events } = (await call('POST events', { body: { ...event, count }, has: ['events'] })) as EventsAnswer // likewise
      return events.flatMap(({ deliveries }) => deliveries)
    },
    async readDelivery(id) {
      const line = `GET deliveries/${encodeURIComponent(id)}`
      const written = (await call(line, { has: ['attempts', 'status'] })) as WrittenDelivery // likewise
      const attempts = written.attempts.map((attempt) => ({ ...attempt, at: Date.parse(attempt.at ?? '') }))
      return { ...written, nextAttemptAt: toTime(written.nextAttemptAt), attempts }
    },
    async *listen(signal) {
      const { body } = await send(url, 'GET stream', { signal, withinMs: Number.POSITIVE_INFINITY })
      if (body === null) return
      try {
        for await (const line of createInterface({ input: Readable.fromWeb(body) }))
          if (line.startsWith('data: ')) yield toMessage(JSON.parse(line.slice(6)))
      } catch (error) {
        signal.throwIfAborted()
        throw goneFrom(url, error)
      }
    },
  }
}

/** Sends one request. Ends the command if it is not answered, or refused. */
async function send(url: URL, line: string, { body, signal, withinMs = ANSWER_WITHIN_MS }: CallSettings = {}) {
  const [method = '', path] = line.split(' ')
  const timeout = Number.isFinite(withinMs) ? [AbortSignal.timeout(withinMs)] : []
  const response = await fetch(new URL(`/_emulator/${path}`, url), {
    method,
    signal: AbortSignal.any([...timeout, ...(signal === undefined ? [] : [signal])]),
    redirect: 'error',
    ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  }).catch((cause: unknown) => {
    signal?.throwIfAborted()
    throw goneFrom(url, cause)
  })
  if (response.ok) return response
  const text = await response.text().catch(() => '')
  const answer = readJson(text)
  const message = isObject(answer) && typeof answer.message === 'string' ? answer.message : text
  // An event that names no account is a slip; a record that is not there is an answer.
  const isAbsent = response.status === 404 && method !== 'POST'
  throw new ExitError(
    isAbsent ? EXIT.failed : EXIT.usage,
    `The emulator refused: ${toPrintable(message.slice(0, MAX_MESSAGE))}`,
  )
}

function goneFrom(url: URL, cause: unknown): ExitError {
  return new ExitError(EXIT.unreachable, `The emulator at ${url.origin} does not answer any more.`, { cause })
}

function noEmulator(url: URL): ExitError {
  return new ExitError(EXIT.unreachable, `What answers at ${url.origin} is no emulator, or one of another version.`)
}

interface StateAnswer {
  readonly settings: { readonly retryScale: number }
  readonly clock: { readonly isManual: boolean }
  readonly counts: { readonly pending: number }
  readonly faults: object
  readonly webhooks: EmulatorState['webhooks']
}

interface EventsAnswer {
  readonly events: readonly { readonly deliveries: readonly string[] }[]
}

/** Only the delivery's times are written as text here. */
function toMessage(written: { readonly type?: string; readonly delivery?: Written<ShownDelivery, 'nextAttemptAt'> }) {
  const { type = 'ready', delivery } = written // the first message has none
  const message =
    delivery === undefined
      ? { ...written, type }
      : { ...written, type, delivery: { ...delivery, nextAttemptAt: toTime(delivery.nextAttemptAt) } }
  return message as EmulatorMessage // the emulator of this package
}

function toTime(written: string | null): number | undefined {
  return written === null ? undefined : Date.parse(written)
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

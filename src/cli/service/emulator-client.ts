import type { WebhookEvent } from '../../protocol/events.ts'
import { EXIT, ExitError } from '../io.ts'
import type { ShownAttempt, ShownDelivery } from '../output/attempt-line.ts'

/** A delivery as the control interface tells it, with its attempts so far. */
export interface WatchedDelivery extends ShownDelivery {
  readonly webhookId: string
  readonly note?: string
  readonly attempts: readonly (ShownAttempt & { readonly url: string })[]
}

export interface EmulatorState {
  readonly retryScale: number
  readonly isManual: boolean
  readonly webhooks: readonly { readonly id: string; readonly url: string }[]
}

/** Without a timestamp it occurs now, by the emulator's clock. */
type EmittedFields = Omit<WebhookEvent, 'timestamp'> & Partial<Pick<WebhookEvent, 'timestamp'>>

/** An emulator that runs in another process. */
export interface EmulatorClient {
  readonly url: string
  readState(): Promise<EmulatorState>
  /** Lets an event occur, so many times with the same id. Gives the ids of the deliveries. */
  emit(event: EmittedFields, count: number): Promise<readonly string[]>
  readDelivery(id: string): Promise<WatchedDelivery>
}

/** What `GET /_emulator/deliveries/{id}` says of times. */
type Written<T, Time extends keyof T> = Omit<T, Time> & { readonly [Name in Time]: string | null }

interface WrittenDelivery extends Written<Omit<WatchedDelivery, 'attempts'>, 'nextAttemptAt'> {
  readonly attempts: readonly Written<WatchedDelivery['attempts'][number], 'at'>[]
}

const ANSWER_WITHIN_MS = 10_000

/** Ends the command with code 3 where no emulator answers at that URL, then or later. */
export async function connectToEmulator(url: URL): Promise<EmulatorClient> {
  const call = async (path: string, body?: object): Promise<unknown> => {
    const response = await fetch(new URL(`/_emulator/${path}`, url), {
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
      redirect: 'error',
      ...(body !== undefined && {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    }).catch((cause: unknown) => {
      throw new ExitError(EXIT.unreachable, `The emulator at ${url.origin} does not answer any more.`, { cause })
    })
    const text = await response.text()
    if (response.ok) return JSON.parse(text)
    const { message = text } = readObject(text) as { readonly message?: unknown } // whatever it is, it is shown
    throw new ExitError(EXIT.usage, `The emulator refused: ${message}`)
  }
  try {
    const ready = await call('ready')
    if (typeof ready !== 'object' || ready === null || !('type' in ready)) throw new Error('no ready line')
  } catch (error) {
    throw new ExitError(
      EXIT.unreachable,
      `No emulator answers at ${url.origin}. Start one in another terminal:\n  npx postern dev --forward http://localhost:3000/hooks --env .env.local\nor name it with --emulator URL, or send straight to a receiver with --to URL.`,
      { cause: error },
    )
  }
  return {
    url: url.origin,
    async readState() {
      const { settings, clock, webhooks } = (await call('state')) as StateAnswer // the emulator of this package
      return { retryScale: settings.retryScale, isManual: clock.isManual, webhooks }
    },
    async emit(event, count) {
      const { events } = (await call('events', { ...event, count })) as EventsAnswer // likewise
      return events.flatMap(({ deliveries }) => deliveries)
    },
    async readDelivery(id) {
      const written = (await call(`deliveries/${encodeURIComponent(id)}`)) as WrittenDelivery // likewise
      const { nextAttemptAt, attempts } = written
      return {
        ...written,
        nextAttemptAt: nextAttemptAt === null ? undefined : Date.parse(nextAttemptAt),
        attempts: attempts.map((attempt) => ({ ...attempt, at: Date.parse(attempt.at ?? '') })),
      }
    },
  }
}

interface StateAnswer {
  readonly settings: { readonly retryScale: number }
  readonly clock: { readonly isManual: boolean }
  readonly webhooks: EmulatorState['webhooks']
}

interface EventsAnswer {
  readonly events: readonly { readonly deliveries: readonly string[] }[]
}

function readObject(text: string): object {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}

import type { Clock } from '../../src/host/clock.ts'
import type { ExchangePhase, WireRequest } from '../wire/exchange.ts'
import type { Assumed } from './assumptions.ts'
import type { AttemptPhases, DeliveryAttempt, StoredDelivery } from './delivery.ts'
import type { Faults } from './faults.ts'
import type { EmulatorSettings } from './options.ts'
import { fail, type PostResult, post } from './post.ts'
import { signAs } from './signing.ts'
import type { Webhook } from './webhooks.ts'

type AttemptOptions = Pick<
  EmulatorSettings,
  'assumed' | 'deadlineMs' | 'signatureHeader' | 'debugHeaders' | 'devToken'
> & {
  readonly clock: Clock
  readonly faults: Faults
}

type PhaseTimes = Partial<Record<ExchangePhase, number>>

type TimedResult = PostResult & Pick<DeliveryAttempt, 'durationMs' | 'phases'>

/** Makes attempts: signs the bytes with the webhook's secret, and sends only what the service documents. */
export function createAttempts(options: AttemptOptions) {
  const { clock, assumed, faults, deadlineMs, signatureHeader, debugHeaders, devToken } = options
  return async (delivery: StoredDelivery, webhook: Webhook, signal: AbortSignal): Promise<DeliveryAttempt> => {
    const at = clock.now()
    const url = (assumed.changedUrl === 'old' && delivery.attempts[0]?.url) || webhook.url
    const number = delivery.attempts.length + 1
    const send = async () => {
      const startedAt = clock.monotonic()
      const reachedAt: PhaseTimes = {}
      const headers = [
        ['Content-Type', 'application/json'],
        ['Content-Length', String(delivery.bytes.length)],
        ['User-Agent', 'postern-emulator'],
        ...signatureOf(delivery, webhook, assumed.signatureCase).map((value) => [signatureHeader, value] as const),
        ...(debugHeaders ? nameDelivery(delivery, number) : []),
        ...(devToken === undefined ? [] : [['X-Postern-Dev', devToken] as const]),
      ] as const
      const result = await post(new URL(url), {
        headers,
        body: delivery.bytes,
        deadlineMs,
        clock,
        rule: assumed.urlRule,
        signal,
        onPhase: (phase) => {
          reachedAt[phase] = clock.monotonic()
        },
      })
      const endedAt = clock.monotonic()
      // Node adds the last two.
      const requestHeaders = [...headers, ['Host', new URL(url).host], ['Connection', 'close']] as const
      return {
        ...result,
        requestHeaders,
        durationMs: endedAt - startedAt,
        phases: toPhases(startedAt, reachedAt, endedAt),
      }
    }
    const result = await sendOnceOrTwice(send, delivery, faults).catch((error) =>
      failUnsent(`the emulator failed: ${error}`),
    )
    return { number, url, at, ...result }
  }
}

/** Makes the record of an attempt that was not made because the webhook is paused, and that counts as failed (A32). */
export function missAttempt({ attempts }: StoredDelivery, { url }: Pick<Webhook, 'url'>, at: number): DeliveryAttempt {
  return { number: attempts.length + 1, url, at, durationMs: 0, ...fail('paused', 'the webhook is paused') }
}

/** Sends the request, twice for a duplicate. The answer to the first one counts. */
async function sendOnceOrTwice(
  send: () => Promise<TimedResult>,
  delivery: StoredDelivery,
  faults: Faults,
): Promise<TimedResult> {
  if (faults.draw('fail', delivery))
    return failUnsent('dropped by the fault "fail" of the emulator, before it was sent')
  const first = send()
  await Promise.all([first, faults.draw('duplicate', delivery) && send()])
  return first
}

const failUnsent = (error: string): TimedResult => ({ ...fail('reset', error), durationMs: 0 })

function toPhases(startedAt: number, { connected, answered }: PhaseTimes, endedAt: number): AttemptPhases {
  return {
    ...(connected !== undefined && { connectMs: connected - startedAt, waitMs: (answered ?? endedAt) - connected }),
    ...(answered !== undefined && { bodyMs: endedAt - answered }),
  }
}

/** Returns the values of the signature header of a delivery; none if the header is omitted. */
export function signatureOf(
  { bytes, signedBytes, signing }: StoredDelivery,
  { secret }: Webhook,
  digits: Assumed['signatureCase'],
): readonly string[] {
  const values = signAs(signing, bytes, signedBytes, secret)
  if (digits === 'lower') return values
  return values.map((value) => value.replace(/[^=]*$/, (digest) => digest.toUpperCase()))
}

function nameDelivery({ id, webhookId }: StoredDelivery, number: number): WireRequest['headers'] {
  return [
    ['X-Emulator-Delivery', id],
    ['X-Emulator-Webhook', webhookId],
    ['X-Emulator-Attempt', String(number)],
  ]
}

import type { Clock } from '../host/clock.ts'
import { SIGNATURE_HEADER, sign } from '../protocol/signature.ts'
import type { Assumed } from './assumptions.ts'
import type { DeliveryAttempt, StoredDelivery } from './delivery.ts'
import type { Faults } from './faults.ts'
import { fail, type PostResult, post } from './post.ts'
import type { Webhook } from './webhooks.ts'

export interface AttemptOptions {
  readonly clock: Clock
  readonly assumed: Assumed
  readonly faults: Faults
  readonly deadlineMs: number
  readonly hasDebugHeaders: boolean
}

const WRONG_SECRET = 'a secret that no webhook of the emulator has'
/** As the service text writes it; names of headers have no case. */
const SIGNATURE_NAME = SIGNATURE_HEADER.replace(/\b[a-z]/g, (letter) => letter.toUpperCase())

/** Makes attempts: signs the bytes with the webhook's secret, and sends nothing that the service does not promise to send. */
export function createAttempts({ clock, assumed, faults, deadlineMs, hasDebugHeaders }: AttemptOptions) {
  return async (delivery: StoredDelivery, webhook: Webhook, signal: AbortSignal): Promise<DeliveryAttempt> => {
    const [at, startedAt] = [clock.now(), clock.monotonic()]
    const url = assumed.changedUrl === 'old' ? delivery.firstUrl : webhook.url
    const number = delivery.attempts.length + 1
    const send = () =>
      post(new URL(url), {
        headers: {
          'Content-Type': 'application/json',
          'Content-Length': String(delivery.bytes.length),
          'User-Agent': 'postern-emulator',
          ...signatureOf(delivery, webhook, assumed.signatureCase),
          ...(hasDebugHeaders && debugHeaders(delivery, number)),
        },
        body: delivery.bytes,
        deadlineMs,
        clock,
        rule: assumed.urlRule,
        signal,
      })
    const result = await sendOnceOrTwice(send, faults).catch((error) => fail('reset', `the emulator failed: ${error}`))
    return { number, url, at, durationMs: clock.monotonic() - startedAt, ...result }
  }
}

/** Of two copies, the first one's answer counts. */
async function sendOnceOrTwice(send: () => Promise<PostResult>, faults: Faults): Promise<PostResult> {
  const { fail: failing, duplicate } = faults.deliveries
  if (faults.draw(failing)) return fail('reset', 'dropped by the fault "fail" of the emulator, before it was sent')
  const copies = faults.draw(duplicate) ? [send(), send()] : [send()]
  const [first] = await Promise.all(copies)
  return first ?? fail('reset', 'nothing was sent')
}

function signatureOf(
  { bytes, signedBytes = bytes, signing }: StoredDelivery,
  { secret }: Webhook,
  digits: Assumed['signatureCase'],
): Readonly<Record<string, string>> {
  if (signing === 'none') return {}
  const [prefix, digest = ''] = sign(signedBytes, signing === 'wrong' ? WRONG_SECRET : secret).split('=')
  return { [SIGNATURE_NAME]: `${prefix}=${digits === 'upper' ? digest.toUpperCase() : digest}` }
}

function debugHeaders({ id, webhookId }: StoredDelivery, number: number): Readonly<Record<string, string>> {
  return { 'X-Emulator-Delivery': id, 'X-Emulator-Webhook': webhookId, 'X-Emulator-Attempt': String(number) }
}

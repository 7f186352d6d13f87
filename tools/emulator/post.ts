import type { Clock } from '../../src/host/clock.ts'
import { isRedirect } from '../../src/protocol/redirect.ts'
import { toConnectionFailure } from '../wire/connection-failure.ts'
import { type ExchangePhase, exchange, type WireAnswer, type WireRequest } from '../wire/exchange.ts'
import { BlockedAddress, findHostProblem, guardLookup, type UrlRule } from './addresses.ts'
import type { DeliveryAttempt, FailureKind } from './delivery.ts'

export type PostResult = Omit<DeliveryAttempt, 'number' | 'url' | 'at' | 'durationMs' | 'phases'>

export interface PostOptions {
  readonly headers: WireRequest['headers']
  readonly body: Uint8Array
  readonly deadlineMs: number
  readonly clock: Clock
  readonly rule: UrlRule
  readonly signal: AbortSignal
  readonly onPhase?: (phase: ExchangePhase) => void
}

const MAX_KEPT_BYTES = 64 * 1_024

/**
 * Sends one request on a new connection. It succeeds if a 2xx status arrives before the deadline. Reads the body until then, so that it
 * may be incomplete. Never rejects.
 */
export async function post(url: URL, options: PostOptions): Promise<PostResult> {
  const { headers, body, clock, deadlineMs, rule, signal: closing, onPhase = () => {} } = options
  const problem = findHostProblem(url, rule)
  if (problem !== undefined) return fail('blocked-url', `the URL ${problem}`)
  const ending = new AbortController()
  const late = fail('timeout', `no answer within ${deadlineMs / 1_000} s`)
  const timer = clock.setTimeout(() => ending.abort(late), deadlineMs)
  const close = () => ending.abort(fail('reset', 'the emulator was closed'))
  closing.addEventListener('abort', close)
  try {
    const { signal } = ending
    const lookup = guardLookup(url.protocol, rule)
    const wire = { signal, maxBodyBytes: MAX_KEPT_BYTES + 1, agent: false, lookup, onPhase }
    return conclude(await exchange(url, { headers, body }, wire))
  } catch (error) {
    if (error === ending.signal.reason) return ending.signal.reason
    if (error instanceof BlockedAddress) return fail('blocked-url', error.message)
    const { kind, text } = toConnectionFailure(error as NodeJS.ErrnoException) // of node:http
    return fail(kind, kind === 'refused' ? `${text}; is the receiver running?` : text)
  } finally {
    clock.clearTimeout(timer)
    closing.removeEventListener('abort', close)
  }
}

function conclude({ status, headers, body, isWhole }: WireAnswer): PostResult {
  const kept = body.subarray(0, MAX_KEPT_BYTES)
  const isCut = !isWhole || kept.length < body.length
  const seen = {
    status,
    responseHeaders: headers,
    // As a stream, the decoder leaves out a character that was cut.
    responseBody: new TextDecoder('utf-8', { ignoreBOM: true }).decode(kept, { stream: isCut }),
    ...(isCut && { responseCutAt: kept.length }),
  }
  if (status >= 200 && status < 300) return { ...seen, failure: undefined, error: undefined }
  if (isRedirect(status))
    return { ...seen, failure: 'redirect', error: `the answer was ${status}; redirects are not followed` }
  return { ...seen, failure: 'status', error: `the answer was ${status}` }
}

export function fail(failure: FailureKind, error: string): PostResult {
  return { status: undefined, failure, error, responseHeaders: {}, responseBody: '' }
}

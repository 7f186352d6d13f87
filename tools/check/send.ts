import { toConnectionFailure } from '../wire/connection-failure.ts'
import { exchange, type KeptConnection, type WireRequest } from '../wire/exchange.ts'
import type { Answer, TestDelivery } from './case.ts'

const MAX_READ_BYTES = 64 * 1_024
const NOTHING = {
  status: undefined,
  isUnreachable: false,
  words: '',
  headers: {},
  body: Promise.resolve(''),
  isWhole: Promise.resolve(true),
}

/** Sends one delivery, and returns its answer once the status has arrived. Never rejects: the answer reports any failure. */
export function sendDelivery(
  target: URL,
  delivery: TestDelivery,
  { timeoutMs, cut, agent }: { timeoutMs: number; cut: AbortSignal; agent?: KeptConnection | undefined },
): Promise<Answer> {
  const started = performance.now()
  const timeout = AbortSignal.timeout(Math.ceil(timeoutMs)) // which takes whole numbers only
  const conclude = (answer: Partial<Answer>) => ({ ...NOTHING, ...answer, ms: performance.now() - started })
  return new Promise((resolve) => {
    const exchanging = exchange(target, toRequest(delivery, agent !== undefined), {
      signal: AbortSignal.any([timeout, cut]),
      maxBodyBytes: MAX_READ_BYTES,
      agent: agent ?? false,
      onHead: ({ status, reason, headers }) =>
        resolve(
          conclude({
            status,
            words: reason,
            headers,
            body: exchanging.then(({ body }) => readStart(body)),
            isWhole: exchanging.then(({ isWhole }) => isWhole),
          }),
        ),
    })
    exchanging.catch((error: NodeJS.ErrnoException) => {
      if (error === timeout.reason)
        return resolve(conclude({ failure: `no answer within ${timeoutMs / 1_000} s`, failureKind: 'timeout' }))
      const { kind, text } = toConnectionFailure(error)
      return resolve(conclude({ failure: text, failureKind: kind, isUnreachable: kind !== 'reset' }))
    })
  })
}

const readStart = (body: Buffer) => body.toString('utf8', 0, MAX_READ_BYTES)

function toRequest(delivery: TestDelivery, isKept: boolean): WireRequest {
  const { method, body, signatureName, signatures, contentType, contentEncoding, toParts, isChunked } = delivery
  // Some hosts refuse requests without a user agent.
  const headers: [name: string, value: string][] = [
    ['User-Agent', 'postern-check'],
    ['Content-Type', contentType],
  ]
  if (contentEncoding !== undefined) headers.push(['Content-Encoding', contentEncoding])
  for (const signature of signatures) headers.push([signatureName, signature])
  if (isChunked) headers.push(['Transfer-Encoding', 'chunked'])
  else if (method !== 'GET') headers.push(['Content-Length', String(body.length)])
  headers.push(['Connection', isKept ? 'keep-alive' : 'close'])
  return { method, headers, body: toParts?.(body) ?? body }
}

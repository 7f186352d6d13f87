import { setTimeout as sleep } from 'node:timers/promises'
import { toConnectionFailure } from '../wire/connection-failure.ts'
import { exchange, type KeptConnection, type WireRequest } from '../wire/exchange.ts'
import type { Answer, Delivery } from './exchange.ts'

const MAX_READ_BYTES = 64 * 1_024
const NOTHING = {
  status: undefined,
  failure: undefined,
  failureKind: undefined,
  isUnreachable: false,
  words: '',
  headers: {},
  body: '',
}

export interface SendOptions {
  readonly timeoutMs: number
  /** Cuts the connection. */
  readonly cut: AbortSignal
  /** Keeps the connection. Default: each delivery has one of its own. */
  readonly agent?: KeptConnection | undefined
}

/** Sends one delivery. Never rejects: what goes wrong is in the answer. */
export async function send(target: URL, delivery: Delivery, { timeoutMs, cut, agent }: SendOptions): Promise<Answer> {
  const started = performance.now()
  const timeout = AbortSignal.timeout(timeoutMs)
  const signal = AbortSignal.any([timeout, cut])
  const conclude = (answer: Partial<Answer>) => ({ ...NOTHING, ...answer, ms: performance.now() - started })
  try {
    const options = { signal, maxBodyBytes: MAX_READ_BYTES, agent: agent ?? false }
    const { status, reason, headers, body } = await exchange(target, toRequest(delivery, agent !== undefined), options)
    return conclude({ status, words: reason, headers, body: body.toString('utf8', 0, MAX_READ_BYTES) })
  } catch (error) {
    if (error === timeout.reason)
      return conclude({ failure: `no answer within ${timeoutMs / 1_000} s`, failureKind: 'timeout' })
    const { kind, text } = toConnectionFailure(error as NodeJS.ErrnoException) // of node:http
    return conclude({ failure: text, failureKind: kind, isUnreachable: kind !== 'reset' })
  }
}

function toRequest(delivery: Delivery, isKept: boolean): WireRequest {
  const { method, body, signatureName, signatures, contentType, contentEncoding, pieceSize, isChunked } = delivery
  // Some hosts refuse what does not name its program.
  const headers: [name: string, value: string][] = [
    ['User-Agent', 'postern-check'],
    ['Content-Type', contentType],
  ]
  if (contentEncoding !== undefined) headers.push(['Content-Encoding', contentEncoding])
  for (const signature of signatures) headers.push([signatureName, signature])
  if (isChunked) headers.push(['Transfer-Encoding', 'chunked'])
  else if (method === 'POST') headers.push(['Content-Length', String(body.length)])
  headers.push(['Connection', isKept ? 'keep-alive' : 'close'])
  return { method, headers, body: pieceSize === undefined ? body : toPieces(body, pieceSize) }
}

async function* toPieces(body: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < body.length; at += size) {
    if (at > 0) await sleep(1) // else the system sends several as one
    yield body.subarray(at, at + size)
  }
}

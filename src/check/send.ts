import { setTimeout as sleep } from 'node:timers/promises'
import { SIGNATURE_HEADER } from '../protocol/signature.ts'
import { toConnectionFailure } from '../wire/connection-failure.ts'
import { exchange, type WireRequest } from '../wire/exchange.ts'
import type { Answer, Delivery } from './exchange.ts'

const MAX_READ_BYTES = 64 * 1_024
const NOTHING = {
  status: undefined,
  failure: undefined,
  failureKind: undefined,
  isUnreachable: false,
  headers: {},
  body: '',
}

/** Sends one delivery on a connection of its own, until it is cut. Never rejects: what goes wrong is in the answer. */
export async function send(target: URL, delivery: Delivery, timeoutMs: number, cut: AbortSignal): Promise<Answer> {
  const started = performance.now()
  const timeout = AbortSignal.timeout(timeoutMs)
  const signal = AbortSignal.any([timeout, cut])
  const conclude = (answer: Partial<Answer>) => ({ ...NOTHING, ...answer, ms: performance.now() - started })
  try {
    const options = { signal, maxBodyBytes: MAX_READ_BYTES, agent: false }
    const { status, headers, body } = await exchange(target, toRequest(delivery), options)
    return conclude({ status, headers, body: body.toString('utf8', 0, MAX_READ_BYTES) })
  } catch (error) {
    if (error === timeout.reason)
      return conclude({ failure: `no answer within ${timeoutMs / 1_000} s`, failureKind: 'timeout' })
    const { kind, text } = toConnectionFailure(error as NodeJS.ErrnoException) // of node:http
    return conclude({ failure: text, failureKind: kind, isUnreachable: kind !== 'reset' })
  }
}

function toRequest(delivery: Delivery): WireRequest {
  const { method, body, signatures, contentType, contentEncoding, pieceSize, isChunked } = delivery
  const headers: [name: string, value: string][] = [['content-type', contentType]]
  if (contentEncoding !== undefined) headers.push(['content-encoding', contentEncoding])
  for (const signature of signatures) headers.push([SIGNATURE_HEADER, signature])
  if (isChunked) headers.push(['transfer-encoding', 'chunked'])
  else if (method === 'POST') headers.push(['content-length', String(body.length)])
  headers.push(['connection', 'close'])
  return { method, headers, body: pieceSize === undefined ? body : toPieces(body, pieceSize) }
}

async function* toPieces(body: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < body.length; at += size) {
    if (at > 0) await sleep(1) // else the system sends several as one
    yield body.subarray(at, at + size)
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import { SIGNATURE_HEADER } from '../protocol/signature.ts'
import { toConnectionFailure } from '../wire/connection-failure.ts'
import { exchange, type WireRequest } from '../wire/exchange.ts'
import type { Answer, Delivery } from './exchange.ts'

const MAX_READ_BYTES = 64 * 1_024

/** Sends one delivery on a connection of its own. Never rejects: what goes wrong is in the answer. */
export async function send(target: URL, delivery: Delivery, timeoutMs: number): Promise<Answer> {
  const started = performance.now()
  const signal = AbortSignal.timeout(timeoutMs)
  const nothing = { status: undefined, failure: undefined, isUnreachable: false, location: undefined, body: '' }
  const conclude = (answer: Partial<Answer>) => ({ ...nothing, ...answer, ms: performance.now() - started })
  try {
    const { status, headers, body } = await exchange(target, toRequest(delivery), {
      signal,
      maxBodyBytes: MAX_READ_BYTES,
      agent: false,
    })
    return conclude({ status, location: headers.location, body: body.toString('utf8', 0, MAX_READ_BYTES) })
  } catch (error) {
    if (error === signal.reason) return conclude({ failure: `no answer within ${timeoutMs / 1_000} s` })
    const { kind, text } = toConnectionFailure(error as NodeJS.ErrnoException) // of node:http
    return conclude({ failure: text, isUnreachable: kind === 'refused' || kind === 'dns' })
  }
}

function toRequest({ method, body, signatures, contentType, pieceSize, isChunked }: Delivery): WireRequest {
  return {
    method,
    headers: [
      ['content-type', contentType],
      ...signatures.map((signature) => [SIGNATURE_HEADER, signature] as const),
      ...(isChunked ? [['transfer-encoding', 'chunked'] as const] : []),
      ...(!isChunked && method === 'POST' ? [['content-length', String(body.length)] as const] : []),
      ['connection', 'close'],
    ],
    body: pieceSize === undefined ? body : toPieces(body, pieceSize),
  }
}

async function* toPieces(body: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < body.length; at += size) {
    if (at > 0) await sleep(1) // else the system sends several as one
    yield body.subarray(at, at + size)
  }
}

import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { SIGNATURE_HEADER } from '../protocol/signature.ts'
import type { Answer, Delivery } from './exchange.ts'

const MAX_KEPT_BYTES = 64 * 1_024

/**
 * Sends one delivery on a connection of its own. Not by fetch, which can send neither two headers of one name nor a body in
 * pieces of a given size. Never rejects: what goes wrong is in the answer.
 */
export function send(target: URL, delivery: Delivery, timeoutMs: number): Promise<Answer> {
  const started = performance.now()
  return new Promise((resolve) => {
    const finish = (answer: Partial<Answer>) => {
      clearTimeout(timer)
      request.destroy()
      const nothing = { status: undefined, failure: undefined, isUnreachable: false, location: undefined, body: '' }
      resolve({ ...nothing, ...answer, ms: performance.now() - started })
    }
    const timer = setTimeout(() => finish({ failure: `no answer within ${timeoutMs / 1_000} s` }), timeoutMs)
    const request = open(target, delivery)
    let hasAnswer = false
    request.on('response', (response) => {
      hasAnswer = true
      read(response).then((body) => finish({ status: response.statusCode, location: response.headers.location, body }))
    })
    // An answer may come before the body has left, and the connection may end behind it.
    request.on('error', (error) => {
      if (!hasAnswer) finish(toFailure(error))
    })
    write(request, delivery)
  })
}

function open(target: URL, { method, body, signatures, contentType, isChunked }: Delivery): ClientRequest {
  const open = target.protocol === 'https:' ? requestHttps : requestHttp
  return open(target, {
    method,
    agent: false,
    headers: {
      'content-type': contentType,
      ...(signatures.length > 0 && { [SIGNATURE_HEADER]: [...signatures] }),
      ...(isChunked ? { 'transfer-encoding': 'chunked' } : method === 'POST' && { 'content-length': body.length }),
      connection: 'close',
    },
  })
}

async function write(request: ClientRequest, { method, body, pieceSize = body.length }: Delivery): Promise<void> {
  request.setNoDelay(true)
  if (method === 'POST' && body.length > 0) {
    for (let at = 0; at < body.length && !request.destroyed; at += pieceSize) {
      if (at > 0) await sleep(1) // else the system sends several as one
      request.write(body.subarray(at, at + pieceSize))
    }
  }
  request.end()
}

async function read(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  let length = 0
  try {
    for await (const part of response) {
      if (length < MAX_KEPT_BYTES) parts.push(part)
      length += part.length
    }
  } catch {
    // The status has been read; what is missing of the body changes nothing.
  }
  return Buffer.concat(parts).toString('utf8', 0, MAX_KEPT_BYTES)
}

const UNREACHABLE = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT']

function toFailure(error: NodeJS.ErrnoException): Partial<Answer> {
  const code = error.code ?? error.message
  if (code === 'ECONNREFUSED') return { failure: 'the connection was refused', isUnreachable: true }
  if (code === 'ECONNRESET' || code === 'EPIPE') return { failure: 'the connection ended without an answer' }
  return { failure: `the connection failed (${code})`, isUnreachable: UNREACHABLE.includes(code) }
}

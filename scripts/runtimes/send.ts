import { type OutgoingHttpHeaders, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Answer {
  readonly status: number
  readonly text: string
  readonly afterMs: number
}

export interface Sending {
  readonly path?: string
  readonly method?: string
  readonly headers?: OutgoingHttpHeaders
  /** The parts of the body in order; a number is a pause in milliseconds. Without a declared length the body is chunked. */
  readonly body?: readonly (Uint8Array | number)[]
  /** If true, the body never ends: the sender stalls after the last part. */
  readonly isEndless?: boolean
  /** Cuts the connection after so many milliseconds, whatever was sent by then. */
  readonly cutAfterMs?: number
}

/** Sends one request to a server on loopback, over its own connection. Rejects if no answer arrives. */
export function send(port: number, sending: Sending): Promise<Answer> {
  const { path = '/webhooks', method = 'POST', headers = {}, body = [], isEndless, cutAfterMs } = sending
  const startedAt = performance.now()
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, path, method, headers, agent: false })
    outgoing.setNoDelay(true)
    outgoing.setTimeout(15_000, () => outgoing.destroy(new Error('no answer within 15 s')))
    // If the answer came before the end of the body, the server may have closed the connection already, which does not matter then.
    outgoing.on('error', reject)
    outgoing.on('response', (incoming) => {
      const parts: Buffer[] = []
      incoming.on('data', (part: Buffer) => parts.push(part))
      incoming.on('error', reject)
      incoming.on('end', () => {
        resolve({
          status: incoming.statusCode ?? 0,
          text: Buffer.concat(parts).toString(),
          afterMs: performance.now() - startedAt,
        })
        if (isEndless || !outgoing.writableEnded) outgoing.destroy()
      })
    })
    const write = async () => {
      outgoing.flushHeaders()
      for (const part of body) {
        if (outgoing.destroyed) return
        if (typeof part === 'number') await sleep(part)
        else await new Promise<void>((written) => outgoing.write(part, () => written()))
      }
      if (!isEndless) outgoing.end()
    }
    write().catch(reject)
    if (cutAfterMs !== undefined) setTimeout(() => outgoing.destroy(new Error('cut by the sender')), cutAfterMs)
  })
}

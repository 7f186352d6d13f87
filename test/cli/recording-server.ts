import { createServer, type IncomingHttpHeaders } from 'node:http'
import { onTestFinished } from 'vitest'
import { listen } from '../adapters/http/hosts.ts'

/** One received request. */
export interface Received {
  readonly body: Buffer
  readonly headers: IncomingHttpHeaders
  readonly event: {
    readonly id: string
    readonly type: string
    readonly timestamp: string
    readonly accountKey: string
    readonly data: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  }
}

/** A server that records all deliveries of one test. */
export async function recordDeliveries(
  answer: (request: Received, count: number) => number | Promise<number> = () => 200,
) {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part)
    const body = Buffer.concat(parts)
    const one = { body, headers: request.headers, event: JSON.parse(body.toString()) }
    received.push(one)
    response.writeHead(await answer(one, received.length)).end()
  })
  const { port, close } = await listen(server)
  onTestFinished(close)
  return { received, port, url: `http://127.0.0.1:${port}/hooks` }
}

import { Hono } from 'hono'
import type { Service } from '../service.ts'
import { describeMessage, writeTime } from './describe.ts'
import type { Env } from './env.ts'

const MAX_WAITING = 1_000

/** Creates the route that streams all messages as server-sent events. */
export function createStreamRoute({ feed, bootId, clock }: Service): Hono<Env> {
  const app = new Hono<Env>()
  const encoder = new TextEncoder()
  app.get('/', (c) => {
    let stop = () => {}
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        const send = (type: string, message: object) =>
          controller.enqueue(encoder.encode(`event: ${type}\ndata: ${JSON.stringify(message)}\n\n`))
        send('ready', { type: 'ready', bootId, now: writeTime(clock.now()) })
        stop = feed.subscribe((message) => {
          if ((controller.desiredSize ?? 0) > -MAX_WAITING) return send(message.type, describeMessage(message))
          // A client that reads too slowly is disconnected, and requests the state when it reconnects.
          stop()
          controller.close()
        })
      },
      cancel: () => stop(),
    })
    return c.body(stream, 200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  })
  return app
}

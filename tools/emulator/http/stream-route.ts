import { Hono } from 'hono'
import { type SSEStreamingApi, streamSSE } from 'hono/streaming'
import type { FeedMessage } from '../feed.ts'
import type { Service } from '../service.ts'
import { describeMessage, writeTime } from './describe.ts'
import type { Env } from './env.ts'

const MAX_WAITING = 1_000

/** Creates the route that streams all messages as server-sent events. */
export function createStreamRoute({ feed, bootId, clock }: Service): Hono<Env> {
  const app = new Hono<Env>()
  app.get('/', (c) =>
    streamSSE(c, async (stream) => {
      const messages = listen(stream, feed)
      try {
        const begin = { type: 'ready', bootId, now: writeTime(clock.now()) }
        await stream.writeSSE({ event: 'ready', data: JSON.stringify(begin) })
        for (let message = await messages.next(); message !== undefined; message = await messages.next())
          await stream.writeSSE({ event: message.type, data: JSON.stringify(describeMessage(message)) })
      } finally {
        messages.stop()
      }
    }),
  )
  return app
}

function listen(stream: SSEStreamingApi, feed: Service['feed']) {
  const waiting: FeedMessage[] = []
  let wake = () => {}
  const stop = feed.subscribe((message) => {
    waiting.push(message)
    // A client that reads too slowly is disconnected, and requests the state when it reconnects.
    if (waiting.length > MAX_WAITING) stream.abort()
    wake()
  })
  stream.onAbort(() => wake())
  const next = async () => {
    while (!stream.aborted && !stream.closed) {
      const message = waiting.shift()
      if (message !== undefined) return message
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
    return undefined
  }
  return { next, stop }
}

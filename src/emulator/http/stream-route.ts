import { Hono } from 'hono'
import { type SSEStreamingApi, streamSSE } from 'hono/streaming'
import type { StreamMessage } from '../contract.ts'
import type { FeedMessage } from '../feed.ts'
import { type CallLog, createBatches } from '../inspector/batches.ts'
import type { Service } from '../service.ts'
import { describeMessage, writeTime } from './describe.ts'
import type { Env } from './env.ts'

const MAX_WAITING = 1_000

/** Creates the route that streams all messages as server-sent events: one by one, or with `?form=rows` grouped for a page. */
export function createStreamRoute(service: Service, calls: CallLog): Hono<Env> {
  const { feed, bootId, clock } = service
  const app = new Hono<Env>()
  app.get('/', (c) =>
    streamSSE(c, async (stream) => {
      const isForPage = c.req.query('form') === 'rows'
      const after = c.req.header('last-event-id') ?? c.req.query('after')
      const messages = isForPage ? listenForPage(stream, after) : listen(stream)
      try {
        const begin: StreamMessage = { type: 'ready', bootId, now: writeTime(clock.now()) }
        await stream.writeSSE({ event: 'ready', data: JSON.stringify(begin) })
        for (let message = await messages.next(); message !== undefined; message = await messages.next())
          await stream.writeSSE({ ...message, data: JSON.stringify(message.data) })
      } finally {
        messages.stop()
      }
    }),
  )
  return app

  function listen(stream: SSEStreamingApi) {
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
        if (message !== undefined) return { event: message.type, data: describeMessage(message) }
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      return undefined
    }
    return { next, stop }
  }

  function listenForPage(stream: SSEStreamingApi, after: string | undefined) {
    const { next, stop } = createBatches(service, calls, after)
    stream.onAbort(stop)
    return {
      next: async () => {
        const data = await next()
        return data === undefined ? undefined : { event: 'batch', data, id: data.cursor }
      },
      stop,
    }
  }
}

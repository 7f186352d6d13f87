import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type RequestListener, request as sendRequest } from 'node:http'
import { events, type SignedDelivery, signed } from 'postern/testing'
import { vi } from 'vitest'
import { ATTEMPT_DELAYS_MS, SERVICE_DEADLINE_MS } from '../../src/protocol/schedule.ts'
import { listen } from '../adapters/http/hosts.ts'
import { Gate } from './gate.ts'

/** Makes an app that answers POST /webhooks, with the secret in WEBHOOK_SECRET, and saves the record of each `contact.created`. */
export type CreateApp = (saveContact: (record: { readonly _id: string }) => Promise<void>) => RequestListener

const SECRET = 'test-secret'

/** Typical acts of a sender, each of which returns its results. Each of the hand-written receivers fails on one. */
export const SCENARIOS = {
  /** The work fails once, and the service retries. */
  'mark-first': async (createApp: CreateApp) => {
    let [calls, saved] = [0, 0]
    const save = async () => {
      if (++calls === 1) throw new Error('the database restarts')
      saved++
    }
    const delivery = signed(events.contact.created(), { secret: SECRET })
    const answers = await serve(createApp(save), async (post) => [
      await post(delivery).answer,
      await post(delivery).answer,
    ])
    return { answers, saved }
  },

  /** Sends five duplicates of one event concurrently. */
  'mark-last': async (createApp: CreateApp) => {
    let calls = 0
    const gate = new Gate()
    const save = () => {
      calls++
      return gate.promise
    }
    const delivery = signed(events.contact.created(), { secret: SECRET })
    await serve(createApp(save), async (post, settle) => {
      const answers = [1, 2, 3, 4, 5].map(() => post(delivery).answer)
      await settle()
      gate.open()
      await Promise.all(answers)
    })
    return { isDoneOnce: calls === 1 }
  },

  /** Sends genuine deliveries, whose JSON is written in all legal ways. */
  're-serialised-body': async (createApp: CreateApp) => {
    const formats = ['compact', 'spaced', 'pretty', 'escaped'] as const
    const deliveries = formats.map((format) => signed(events.contact.created(), { secret: SECRET, format }))
    const answers = await serve(createApp(saveNothing), (post) =>
      Promise.all(deliveries.map((each) => post(each).answer)),
    )
    return { answers }
  },

  /** Sends a genuine delivery with its digest in capitals. */
  'string-compare': async (createApp: CreateApp) => {
    const { body, signature = '' } = signed(events.contact.created(), { secret: SECRET })
    const capitals = signature.slice(0, 7) + signature.slice(7).toUpperCase()
    return { answer: await serve(createApp(saveNothing), (post) => post({ body, signature: capitals }).answer) }
  },

  /** Work of 15 s, under the service's own time limit and schedule. */
  'no-deadline': async (createApp: CreateApp) => {
    let calls = 0
    const save = () => {
      calls++
      return new Promise<void>((resolve) => setTimeout(resolve, 15_000))
    }
    const delivery = signed(events.contact.created(), { secret: SECRET })
    const realTime = performance.now.bind(performance)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] })
    try {
      return await serve(createApp(save), async (post, settle) => {
        const answers: (number | 'none')[] = []
        for (const delay of ATTEMPT_DELAYS_MS) {
          await vi.advanceTimersByTimeAsync(delay)
          const earlierCalls = calls
          const { answer, abandon } = post(delivery)
          const given: { status?: number; isLost?: true } = {}
          answer.then(
            (status) => {
              given.status = status
            },
            () => {
              given.isLost = true // given up, or the connection failed
            },
          )
          // A wait for ever would leave the fake timers to the tests that follow.
          const until = realTime() + 20_000
          while (given.status === undefined && !given.isLost && calls === earlierCalls && realTime() < until)
            await settle()
          await vi.advanceTimersByTimeAsync(SERVICE_DEADLINE_MS)
          await settle()
          abandon()
          answers.push(given.status ?? 'none')
          if (given.status === 200) break
        }
        await vi.advanceTimersByTimeAsync(15_000)
        return { answers, calls }
      })
    } finally {
      vi.useRealTimers()
    }
  },
} as const

/** Sends a forged delivery to an app that was started without a secret. */
export function sendSignedByNothing(app: RequestListener): Promise<number> {
  const { body } = signed(events.contact.created(), { secret: SECRET })
  const signature = `sha256=${createHmac('sha256', '').update(body).digest('hex')}`
  return serve(app, (post) => post({ body, signature }).answer)
}

const saveNothing = async () => {}

interface Posted {
  readonly answer: Promise<number>
  /** Gives up, and cuts the connection. */
  abandon(): void
}

type Post = (delivery: Pick<SignedDelivery, 'body' | 'signature'>) => Posted

/** @param act gets a function that sends, and one that waits until all earlier deliveries have been processed as far as possible */
async function serve<T>(
  app: RequestListener,
  act: (post: Post, settle: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const { port, close } = await listen(createServer(app))
  const post: Post = ({ body, signature }) => {
    const headers = { 'content-type': 'application/json', 'x-service-signature': signature }
    const options = { host: '127.0.0.1', port, path: '/webhooks', method: 'POST', headers, agent: false }
    const request = sendRequest(options)
    const answer = new Promise<number>((resolve, reject) => {
      request.on('response', (response) => resolve(response.resume().statusCode ?? 0)).on('error', reject)
    })
    request.end(body)
    return { answer, abandon: () => request.destroy() }
  }
  // Both ends are in this process: while ten sequential requests run, the others arrive.
  const settle = async () => {
    for (let round = 0; round < 10; round++) {
      const [response] = await once(sendRequest({ host: '127.0.0.1', port, agent: false }).end(), 'response')
      response.resume()
    }
  }
  try {
    return await act(post, settle)
  } finally {
    await close()
  }
}

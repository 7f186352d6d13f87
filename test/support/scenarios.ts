import { createHmac } from 'node:crypto'
import { createServer, type RequestListener, request as sendRequest } from 'node:http'
import { events, type SignedDelivery, signed } from 'postern/testing'
import { vi } from 'vitest'
import { ATTEMPT_DELAYS_MS, SERVICE_DEADLINE_MS } from '../../src/protocol/schedule.ts'
import { listen } from '../adapters/hosts.ts'

/** Makes an app that answers POST /webhooks, with the secret in WEBHOOK_SECRET, and saves the record of each `contact.created`. */
export type CreateApp = (saveContact: (record: { readonly _id: string }) => Promise<void>) => RequestListener

const SECRET = 'test-secret'
const IO_GRACE_MS = 250

/** Real time, also where the timers are fake. */
const realSetTimeout = globalThis.setTimeout
const sleep = (ms: number) => new Promise<void>((resolve) => realSetTimeout(resolve, ms))

/** What a sender may do one day, each telling what came of it. Of the hand-written receivers, each fails on one. */
export const SCENARIOS = {
  /** The work fails once, and the service comes again. */
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

  /** Five copies of one event at once. */
  'mark-last': async (createApp: CreateApp) => {
    let calls = 0
    let open = () => {}
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    const save = () => {
      calls++
      return gate
    }
    const delivery = signed(events.contact.created(), { secret: SECRET })
    await serve(createApp(save), async (post, requests) => {
      const answers = [1, 2, 3, 4, 5].map(() => post(delivery).answer)
      while (requests() < answers.length) await sleep(5)
      await sleep(IO_GRACE_MS)
      open()
      await Promise.all(answers)
    })
    return { isDoneOnce: calls === 1 }
  },

  /** Genuine deliveries, whose JSON is written in all the ways that are legal. */
  're-serialised-body': async (createApp: CreateApp) => {
    const formats = ['compact', 'spaced', 'pretty', 'escaped'] as const
    const deliveries = formats.map((format) => signed(events.contact.created(), { secret: SECRET, format }))
    const answers = await serve(createApp(saveNothing), (post) =>
      Promise.all(deliveries.map((each) => post(each).answer)),
    )
    return { answers }
  },

  /** A genuine delivery with its digest in capitals. */
  'string-compare': async (createApp: CreateApp) => {
    const { bytes, signature = '' } = signed(events.contact.created(), { secret: SECRET })
    const capitals = signature.slice(0, 7) + signature.slice(7).toUpperCase()
    return { answer: await serve(createApp(saveNothing), (post) => post({ bytes, signature: capitals }).answer) }
  },

  /** Work of 15 s, under the service's own time limit and schedule. */
  'no-deadline': async (createApp: CreateApp) => {
    let calls = 0
    const save = () => {
      calls++
      return new Promise<void>((resolve) => setTimeout(resolve, 15_000))
    }
    const delivery = signed(events.contact.created(), { secret: SECRET })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] })
    try {
      return await serve(createApp(save), async (post) => {
        const answers: (number | 'none')[] = []
        for (const delay of ATTEMPT_DELAYS_MS) {
          await vi.advanceTimersByTimeAsync(delay)
          const earlierCalls = calls
          answers.push(await withinItsTime(post(delivery), () => calls > earlierCalls))
          if (answers.at(-1) === 200) break
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
  const { bytes } = signed(events.contact.created(), { secret: SECRET })
  const signature = `sha256=${createHmac('sha256', '').update(bytes).digest('hex')}`
  return serve(app, (post) => post({ bytes, signature }).answer)
}

/**
 * How much longer a comparison takes where the last character differs than where the first one of the digest does. The quickest
 * of many interleaved rounds counts, so that other work on the machine does not.
 */
export function measureLeak(compare: (given: string, expected: string) => boolean): number {
  const pairs = (toSpoilt: (digest: string) => string) =>
    Array.from({ length: 200 }, (_, index) => {
      const digest = createHmac('sha256', SECRET).update(String(index)).digest('hex')
      // By way of a Buffer, so that both are flat strings of their own, as those from a request are.
      return [`sha256=${toSpoilt(digest)}`, `sha256=${digest}`].map((text) => Buffer.from(text).toString('latin1'))
    })
  const sets = [pairs((digest) => `x${digest.slice(1)}`), pairs((digest) => `${digest.slice(0, -1)}x`)]
  const quickest = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (let round = 0; round < 400; round++)
    for (const [which, set] of sets.entries()) {
      const startedAt = performance.now()
      for (const [given = '', expected = ''] of set) if (compare(given, expected)) throw new Error('they differ')
      quickest[which] = Math.min(quickest[which] ?? 0, performance.now() - startedAt)
    }
  const [first = 0, last = 0] = quickest
  return last / first
}

const saveNothing = async () => {}

interface Posted {
  readonly answer: Promise<number>
  /** Gives up, and cuts the connection. */
  abandon(): void
}

type Post = (delivery: Pick<SignedDelivery, 'bytes' | 'signature'>) => Posted

async function serve<T>(app: RequestListener, act: (post: Post, requests: () => number) => Promise<T>): Promise<T> {
  let requests = 0
  const server = createServer(app).on('request', () => requests++)
  const { port, close } = await listen(server)
  const post: Post = ({ bytes, signature }) => {
    const headers = { 'content-type': 'application/json', 'x-service-signature': signature }
    const options = { host: '127.0.0.1', port, path: '/webhooks', method: 'POST', headers, agent: false }
    const request = sendRequest(options)
    const answer = new Promise<number>((resolve, reject) => {
      request.on('response', (response) => resolve(response.resume().statusCode ?? 0)).on('error', reject)
    })
    request.end(bytes)
    return { answer, abandon: () => request.destroy() }
  }
  try {
    return await act(post, () => requests)
  } finally {
    await close()
  }
}

/** The answer if it comes within the time that the service gives it, by the fake clock; else the sender gives up. */
async function withinItsTime({ answer, abandon }: Posted, hasBegun: () => boolean): Promise<number | 'none'> {
  let result: number | 'none' = 'none'
  const settled = answer.then(
    (status) => {
      result = status
    },
    () => {},
  )
  while (result === 'none' && !hasBegun()) await sleep(5)
  await vi.advanceTimersByTimeAsync(SERVICE_DEADLINE_MS)
  await Promise.race([settled, sleep(IO_GRACE_MS)])
  abandon()
  return result
}

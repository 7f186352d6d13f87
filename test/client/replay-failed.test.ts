import { type ReplayJournal, type ReplayOptions, replayFailed } from 'postern/client'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { clientOf, failureOf } from './support.ts'
import { Doomed, type StoredDelivery, startWebhookService, type WebhookService } from './webhook-service.ts'

let service: WebhookService
let retried: string[]
beforeEach(async () => {
  service = await startWebhookService()
  service.add()
  retried = []
  const succeed = service.onRetry
  service.onRetry = (delivery) => {
    retried.push(delivery.eventId)
    succeed(delivery)
  }
})
afterEach(() => service.close())

const fail = (eventId: string, fields?: Partial<StoredDelivery>) => service.fail('w1', eventId, fields)
const replay = (options: Partial<ReplayOptions> = {}) =>
  replayFailed(clientOf(service), { webhookId: 'w1', ...options })
const outcomesOf = async (result: ReturnType<typeof replay>) =>
  Object.fromEntries((await result).events.map(({ delivery, outcome }) => [delivery.eventId, outcome]))

describe('replayFailed', () => {
  it('brings back what failed, the oldest first', async () => {
    for (const eventId of ['e1', 'e2', 'e3']) fail(eventId)
    const onProgress = vi.fn()
    const result = await replay({ concurrency: 1, onProgress })
    expect(retried).toEqual(['e1', 'e2', 'e3'])
    expect(result).toMatchObject({ retried: 3, resumed: 0, skipped: { delivered: 0, pending: 0 } })
    expect(result.events.map(({ outcome }) => outcome)).toEqual(['succeeded', 'succeeded', 'succeeded'])
    expect(onProgress).toHaveBeenLastCalledWith({
      ...{ total: 3, retried: 3, resumed: 0, refused: 0 },
      ...{ succeeded: 3, failed: 0 },
    })
  })

  it('sends each event once, and leaves out what came through or is on its way', async () => {
    fail('twice')
    const last = fail('twice')
    fail('later')
    fail('later', { status: 'delivered' })
    fail('earlier', { status: 'success' })
    fail('earlier')
    fail('pending')
    fail('pending', { status: 'pending' })
    fail('fine', { status: 'success' })
    const result = await replay()
    expect(retried).toEqual(['twice'])
    expect(result.events.map(({ delivery }) => delivery.id)).toEqual([last._id])
    expect(result.skipped).toEqual({ delivered: 2, pending: 1 })
  })

  it('reads the whole log', async () => {
    for (let n = 0; n < 250; n++) fail(`e${n}`)
    expect((await replay({ concurrency: 8 })).retried).toBe(250)
    expect(new Set(retried).size).toBe(250)
  })

  it('takes a time, a filter and a limit', async () => {
    fail('old')
    const since = new Date(fail('other', { eventType: 'contact.deleted' }).createdAt)
    for (const eventId of ['e1', 'e2', 'e3']) fail(eventId)
    await replay({ since, filter: ({ eventType }) => eventType === 'contact.created', limit: 2 })
    expect(retried.toSorted()).toEqual(['e1', 'e2'])
  })

  it('reads no further than it has to, where the log is sorted', async () => {
    for (let n = 0; n < 500; n++) fail(`e${n}`)
    const since = new Date(fail('new').createdAt)
    expect((await replay({ since, dryRun: true })).events).toHaveLength(1)
    expect(service.calls).toHaveLength(1)
  })

  it('can only look', async () => {
    fail('e1')
    expect(await outcomesOf(replay({ dryRun: true }))).toEqual({ e1: 'planned' })
    expect(retried).toEqual([])
  })

  it('makes do with logs without event ids, times or attempts', async () => {
    for (const eventId of ['e1', 'e2']) fail(eventId)
    service.onAnswer = ({ path, query }) =>
      path.endsWith('/deliveries') && !query.has('before')
        ? { body: service.logs.get('w1')?.map(({ _id, status }) => ({ _id, status })) }
        : undefined
    const result = await replay({ concurrency: 1 })
    expect(retried).toEqual(['e1', 'e2'])
    expect(result.events.map(({ outcome }) => outcome)).toEqual(['succeeded', 'succeeded'])
  })

  it('tells what failed again, at once where attempts are counted, else after a while', async () => {
    fail('counted')
    const uncounted = fail('uncounted', { attempts: Number.NaN })
    service.onRetry = (delivery) => {
      if (delivery !== uncounted) delivery.attempts++
    }
    expect(await outcomesOf(replay())).toEqual({ counted: 'failed', uncounted: 'failed' })
  })

  it('waits for results, but not for ever', async () => {
    for (const eventId of ['slow', 'never']) fail(eventId)
    let looks = 0
    service.onRetry = (delivery) => {
      delivery.status = 'pending'
    }
    service.onAnswer = ({ path }) => {
      if (path.endsWith('/deliveries')) looks++
      const slow = service.logs.get('w1')?.find(({ eventId }) => eventId === 'slow')
      if (looks === 4 && slow !== undefined) slow.status = 'success'
      return undefined
    }
    expect(await outcomesOf(replay())).toEqual({ slow: 'succeeded', never: 'unresolved' })
  })

  it.each([
    [409, 'not_retriable'],
    [422, 'not_retriable'],
    [404, 'gone'],
  ])('goes on where one cannot be retried: %d', async (status, outcome) => {
    const refused = fail('refused')
    fail('fine')
    service.onAnswer = ({ path }) => (path.endsWith(`/retry/${refused._id}`) ? { status } : undefined)
    expect(await outcomesOf(replay())).toEqual({ refused: outcome, fine: 'succeeded' })
  })

  it.each([0, 21, 1.5])('refuses a concurrency of %d', async (concurrency) => {
    await expect(replay({ concurrency })).rejects.toMatchObject({ code: 'option_invalid' })
  })
})

describe('a retry whose answer is lost', () => {
  it('is not repeated where the log shows that it was carried out', async () => {
    fail('e1')
    service.onAnswer = ({ method }) => (method === 'POST' ? (response) => response.socket?.destroy() : undefined)
    expect(await outcomesOf(replay())).toEqual({ e1: 'succeeded' })
    expect(retried).toEqual(['e1'])
  })

  it('is repeated where the log shows nothing of it, but not for ever', async () => {
    fail('e1')
    service.onRetry = (delivery) => void retried.push(delivery.eventId)
    service.onAnswer = ({ method }) => (method === 'POST' ? { status: 504 } : undefined)
    expect(await outcomesOf(replay())).toEqual({ e1: 'unresolved' })
    expect(retried).toHaveLength(3)
  })
})

describe('an interrupted replay', () => {
  const makeJournal = () => {
    const lines: string[] = []
    const journal: ReplayJournal = { read: () => lines, append: (line) => void lines.push(line) }
    return { lines, journal }
  }

  it('by its signal goes on with its journal where it stopped', async () => {
    for (let n = 0; n < 20; n++) fail(`e${n}`)
    const { lines, journal } = makeJournal()
    const controller = new AbortController()
    const onProgress = ({ retried }: { retried: number }) => retried === 10 && controller.abort(new Error('enough'))
    expect(await failureOf(replay({ journal, onProgress, signal: controller.signal }))).toMatchObject({
      message: 'enough',
    })
    expect(lines.length).toBeGreaterThanOrEqual(10)
    const result = await replay({ journal })
    expect(result).toMatchObject({ resumed: lines.length - result.retried })
    expect(retried.toSorted()).toEqual(Array.from({ length: 20 }, (_, n) => `e${n}`).toSorted())
    // One that was carried out as the signal came is no failure any more.
    expect(result.events.length).toBeGreaterThanOrEqual(19)
    expect(new Set(result.events.map(({ outcome }) => outcome))).toEqual(new Set(['succeeded']))
  })

  it('by a crash at any step sends nothing twice, and loses nothing', async () => {
    for (let step = 1; step < 14; step++) {
      service.logs.set('w1', [])
      retried.length = 0
      for (let n = 0; n < 4; n++) fail(`e${n}`)
      const { lines, journal } = makeJournal()
      const doomed = new Doomed(service, step)
      const append = (line: string) => void doomed.step(lines.push(line))
      await replayFailed(doomed.client, { webhookId: 'w1', journal: { ...journal, append } }).catch(() => {})
      await replay({ journal })
      expect(retried.toSorted(), `step ${step}`).toEqual(['e0', 'e1', 'e2', 'e3'])
    }
  })

  it('does not repeat what was taken on and failed again', async () => {
    fail('e1')
    service.onRetry = (delivery) => {
      retried.push(delivery.eventId)
      delivery.attempts++
    }
    const { journal } = makeJournal()
    expect(await outcomesOf(replay({ journal }))).toEqual({ e1: 'failed' })
    expect(await replay({ journal })).toMatchObject({ retried: 0, resumed: 1, events: [{ outcome: 'failed' }] })
    expect(retried).toEqual(['e1'])
  })

  it.each(['', 'no json', '{"webhookId":"w1","deliv', 'null', '5', '{"webhookId":"w2","deliveryId":"d2"}'])(
    'reads over a line that is not its own: %j',
    async (line) => {
      fail('e1')
      expect(await outcomesOf(replay({ journal: { read: () => [line], append: () => {} } }))).toEqual({
        e1: 'succeeded',
      })
    },
  )

  it('stops where its journal fails, since it could not be resumed', async () => {
    for (let n = 0; n < 5; n++) fail(`e${n}`)
    const full = new Error('disk full')
    const append = () => Promise.reject(full)
    expect(await failureOf(replay({ journal: { read: () => [], append }, concurrency: 1 }))).toBe(full)
    expect(retried).toHaveLength(1)
  })
})

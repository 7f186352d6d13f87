import { getEventListeners } from 'node:events'
import { type ReplayJournal, type ReplayOptions, replayFailed } from 'postern/client'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { clientOf, failureOf, HastyClock } from './support.ts'
import {
  Doomed,
  expectEndAtAnyStep,
  makeWebhookService,
  recordRetries,
  type StoredDelivery,
  type WebhookService,
} from './webhook-service.ts'

let service: WebhookService
let retried: string[]
beforeEach(() => {
  service = makeWebhookService()
  service.add()
  retried = recordRetries(service)
})

const fail = (eventId: string, fields?: Partial<StoredDelivery>) => service.fail('w1', eventId, fields)
const timeOf = (second: number) => new Date(Date.UTC(2025, 0, 2, 0, 0, second))
/** Fills the log, from its first line on, with failures of these seconds; undefined: without a time. */
function fill(seconds: readonly (number | undefined)[]): void {
  for (const [index, second] of [...seconds.entries()].toReversed()) {
    const createdAt = second === undefined ? (undefined as never) : timeOf(second).toISOString() // left out
    fail(`e${index}`, { createdAt })
  }
}

/** A retry that the service carries out, and that fails again. */
const failAgain = (delivery: StoredDelivery) => {
  retried.push(delivery.eventId)
  delivery.attempts++
}
const replay = (options: Partial<ReplayOptions> = {}, clock = new HastyClock()) =>
  replayFailed(clientOf(service, { clock }), { webhookId: 'w1', ...options })
const outcomesOf = async (result: ReturnType<typeof replay>) =>
  Object.fromEntries((await result).events.map(({ delivery, outcome }) => [delivery.eventId, outcome]))

describe('replayFailed', () => {
  it('replays the failures, the oldest first', async () => {
    for (const eventId of ['e1', 'e2', 'e3']) fail(eventId)
    const onProgress = vi.fn()
    const result = await replay({ concurrency: 1, onProgress })
    expect(retried).toEqual(['e1', 'e2', 'e3'])
    expect(result).toMatchObject({ retried: 3, resumed: 0, skipped: { delivered: 0, pending: 0 } })
    expect(result.events.map(({ outcome }) => outcome)).toEqual(['succeeded', 'succeeded', 'succeeded'])
    expect(onProgress).toHaveBeenLastCalledWith({
      total: 3,
      retried: 3,
      resumed: 0,
      refused: 0,
      succeeded: 3,
      failed: 0,
    })
  })

  it('plans all failures, even if new deliveries push a page of the log while it reads', async () => {
    for (let n = 0; n < 100; n++) fail(`e${n}`)
    service.onAnswer = ({ path, query }) => {
      if (!path.endsWith('/deliveries')) return undefined
      const page = Number(query.get('page') ?? 1)
      for (let n = 0; page === 3 && n < 20; n++) fail(`new${n}`, { status: 'success' })
      const data = service.logs.get('w1')?.slice(page * 20 - 20, page * 20)
      return { body: { data, nextPage: data?.length === 20 ? page + 1 : null } }
    }
    expect((await replay({ dryRun: true })).events).toHaveLength(100)
  })

  it('sends each event once, and leaves out events that were delivered or are on their way', async () => {
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

  it.each<[string, readonly (number | undefined)[], readonly string[]]>([
    ['the newest is first', [3, 2, 1], ['e2', 'e1', 'e0']],
    ['the oldest is first', [1, 2, 3], ['e0', 'e1', 'e2']],
    ['it has no order', [1, 3, 2], ['e0', 'e2', 'e1']],
    ['one line has no time', [1, undefined, 3], ['e2', 'e1', 'e0']],
    ['no line has a time', [undefined, undefined], ['e1', 'e0']],
  ])('retries the oldest first if %s', async (_what, seconds, order) => {
    fill(seconds)
    await replay({ concurrency: 1 })
    expect(retried).toEqual(order)
  })

  it.each<[string, readonly (number | undefined)[], number, readonly string[]]>([
    ['the oldest is first and several are of one moment', [1, 1, 2, 2], 2, ['e2', 'e3']],
    [
      'it falls, and rises after a line without a time',
      [9, 8, undefined, 10, 1, 12],
      5,
      ['e0', 'e1', 'e2', 'e3', 'e5'],
    ],
    ['all are of one moment', [5, 5, 5], 5, ['e0', 'e1', 'e2']],
  ])('finds all since a time in a log if %s', async (_what, seconds, since, found) => {
    fill(seconds)
    await replay({ since: timeOf(since) })
    expect(retried.toSorted()).toEqual(found)
  })

  it('reads no further than a time if the newest is first, also if several are of one moment', async () => {
    fill(Array.from({ length: 300 }, (_, index) => 400 - Math.floor(index / 2)))
    await replay({ since: timeOf(400) })
    expect(retried.toSorted()).toEqual(['e0', 'e1'])
    const pages = service.calls.filter((call) => call === 'GET /api/integrations/webhooks/w1/deliveries')
    expect(pages).toHaveLength(2) // one before the retries, and one for their results
  })

  it('uses the last delivery of an event even if the oldest is first in the log', async () => {
    const last = fail('e1', { createdAt: timeOf(2).toISOString() })
    fail('e1', { createdAt: timeOf(1).toISOString() })
    expect((await replay()).events.map(({ delivery }) => delivery.id)).toEqual([last._id])
  })

  it('waits for each result from the one before it', async () => {
    const due = new Map([fail('soon'), fail('later')].map((line, index) => [line, (index + 1) * 50_000] as const))
    const clock = new HastyClock()
    service.onRetry = (line) => {
      line.status = 'pending'
    }
    service.onAnswer = () => {
      for (const [line, ms] of due) if (line.status === 'pending' && clock.monotonic() >= ms) line.status = 'success'
      return undefined
    }
    const replayed = replay({}, clock)
    expect(await outcomesOf(replayed)).toEqual({ soon: 'succeeded', later: 'succeeded' })
  })

  it('does not treat the answer of a retry as its result before the log says so', async () => {
    const line = fail('e1')
    service.onRetry = () => {}
    service.onAnswer = ({ method }) => {
      if (method !== 'POST') return undefined
      line.status = 'success'
      return { body: { ...line, status: 'failed', attempts: line.attempts + 1 } }
    }
    expect(await outcomesOf(replay())).toEqual({ e1: 'succeeded' })
  })

  it('starts no further retry after a failure that affects all', async () => {
    for (let n = 0; n < 40; n++) fail(`e${n}`)
    service.onAnswer = ({ method }) => (method === 'POST' && retried.length === 3 ? { status: 413 } : undefined)
    expect(await failureOf(replay({ concurrency: 2 }))).toMatchObject({ code: 'request_refused' })
    expect(retried.length).toBeLessThan(6)
  })

  it('leaves nothing on its signal', async () => {
    fail('e1')
    service.onRetry = (delivery) => {
      delivery.status = 'pending'
    }
    const { signal } = new AbortController()
    expect(await outcomesOf(replay({ signal }))).toEqual({ e1: 'unresolved' })
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  it('is ended by its signal at any step, even if the service hangs', async () => {
    const reset = () => {
      service.logs.set('w1', [])
      fail('e1')
    }
    await expectEndAtAnyStep(service, reset, (signal) => replay({ signal }))
  })

  it('accepts a time, a filter and a limit', async () => {
    fail('old')
    const since = new Date(fail('other', { eventType: 'contact.deleted' }).createdAt)
    for (const eventId of ['e1', 'e2', 'e3']) fail(eventId)
    await replay({ since, filter: ({ eventType }) => eventType === 'contact.created', limit: 2 })
    expect(retried.toSorted()).toEqual(['e1', 'e2'])
  })

  it('copes with logs without event ids, times or attempts', async () => {
    for (const eventId of ['e1', 'e2']) fail(eventId)
    service.onAnswer = ({ path, query }) =>
      path.endsWith('/deliveries') && !query.has('before')
        ? { body: service.logs.get('w1')?.map(({ _id, status }) => ({ _id, status })) }
        : undefined
    const result = await replay({ concurrency: 1 })
    expect(retried).toEqual(['e1', 'e2'])
    expect(result.events.map(({ outcome }) => outcome)).toEqual(['succeeded', 'succeeded'])
  })

  it('reports repeated failures, immediately if attempts are counted, otherwise after a while', async () => {
    fail('counted')
    const uncounted = fail('uncounted', { attempts: Number.NaN })
    service.onRetry = (delivery) => {
      if (delivery !== uncounted) delivery.attempts++
    }
    expect(await outcomesOf(replay())).toEqual({ counted: 'failed', uncounted: 'failed' })
  })

  it('reads the log less and less often, and gives up a minute after the last result', async () => {
    fail('never')
    service.onRetry = (delivery) => {
      delivery.status = 'pending'
    }
    const clock = new HastyClock()
    clock.advance(86_400_000)
    const replayed = replay({}, clock)
    expect(await outcomesOf(replayed)).toEqual({ never: 'unresolved' })
    const waits = [1_000, 1_500, 2_250, 3_375, 5_062.5, 7_593.75, 10_000, 10_000, 10_000, 10_000]
    expect(clock.waits).toEqual(waits)
  })

  it('reports its progress', async () => {
    for (const eventId of ['fine', 'refused', 'gone', 'again']) fail(eventId)
    service.onRetry = (delivery) => {
      delivery.attempts++
      if (delivery.eventId === 'fine') delivery.status = 'success'
    }
    const log = service.logs.get('w1') ?? []
    const idOf = (eventId: string) => log.find((line) => line.eventId === eventId)?._id
    service.onAnswer = ({ path }) => {
      if (path.endsWith(`/retry/${idOf('refused')}`)) return { status: 409 }
      return path.endsWith(`/retry/${idOf('gone')}`) ? { status: 404 } : undefined
    }
    const told: object[] = []
    await replay({ concurrency: 1, onProgress: (progress) => told.push(progress) })
    const start = { total: 4, retried: 0, resumed: 0, refused: 0, succeeded: 0, failed: 0 }
    expect(told).toEqual([
      start,
      { ...start, retried: 1 },
      { ...start, retried: 1, refused: 1 },
      { ...start, retried: 1, refused: 2 },
      { ...start, retried: 2, refused: 2 },
      { ...start, retried: 2, refused: 2, succeeded: 1, failed: 1 },
    ])
  })

  it.each([408, 413])('does not treat %d as a delivery that cannot be retried', async (status) => {
    fail('e1')
    service.onAnswer = ({ method }) => (method === 'POST' ? { status } : undefined)
    expect(await failureOf(replay())).toMatchObject({ code: 'request_refused', status })
  })

  it.each([
    { pollMs: 0 },
    { waitMs: -1 },
    { limit: -1 },
    { since: new Date('2025-13-01') },
    { since: new Date(1_763_000_000) },
    { concurrency: 0 },
    { concurrency: 21 },
  ])('refuses %j, by which nothing or too much would be done', async (wrong) => {
    await expect(replay(wrong)).rejects.toMatchObject({ code: 'option_invalid' })
  })
})

describe('a retry whose answer is lost', () => {
  it.each([
    ['its state has another word', { status: 'kaputt' }],
    ['an attempt was added', { attempts: 6 }],
  ])('is not asked for again once %s in the log', async (_what, moved) => {
    fail('e1', { attempts: 5 })
    service.onRetry = (delivery) => void Object.assign(delivery, moved)
    service.onAnswer = ({ method }) => (method === 'POST' ? 'drop' : undefined)
    await replay()
    expect(service.calls.filter((call) => call.startsWith('POST'))).toHaveLength(1)
  })

  it('is not repeated if the log shows that it was carried out', async () => {
    fail('e1')
    service.onAnswer = ({ method }) => (method === 'POST' ? 'drop' : undefined)
    expect(await outcomesOf(replay())).toEqual({ e1: 'succeeded' })
    expect(retried).toEqual(['e1'])
  })

  it('is not repeated while the log shows that it is under way', async () => {
    const line = fail('e1')
    let looks = 0
    service.onRetry = () => {
      line.status = 'pending'
    }
    service.onAnswer = ({ method, path }) => {
      if (path.endsWith('/deliveries')) looks++
      if (looks === 4) Object.assign(line, { status: 'failed', attempts: 6 })
      return method === 'POST' ? { status: 504 } : undefined
    }
    expect(await outcomesOf(replay())).toEqual({ e1: 'failed' })
    expect(service.calls.filter((call) => call.startsWith('POST'))).toHaveLength(1)
  })

  it('is repeated if the log does not show it, but not for ever', async () => {
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

  const ASKED = { step: 'asked', attempts: 5 }
  const ACCEPTED = { step: 'accepted', attempts: 5 }

  it.each([
    ['succeeds', 'success'],
    ['fails again', 'failed'],
  ])('by a crash at any step sends nothing twice, and loses nothing, if a retry %s', async (_what, status) => {
    service.onRetry = (delivery) => {
      failAgain(delivery)
      delivery.status = status
    }
    for (let step = 1; step < 20; step++) {
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

  it.each(['', 'no json', '{"webhookId":"w1","deliv', 'null', '5', '{"webhookId":"w2","deliveryId":"d2"}'])(
    'skips a line that is not its own: %j',
    async (line) => {
      fail('e1')
      expect(await outcomesOf(replay({ journal: { read: () => [line], append: () => {} } }))).toEqual({
        e1: 'succeeded',
      })
    },
  )

  it.each<[unknown, string]>([
    ['{"webhookId":"w1"}\n', "give a list of the lines: text.split('\\n')"],
    [Buffer.from('{}'), 'give a list of the lines'],
    [{ lines: [] }, 'give a list of the lines'],
    [['{"webhookId":"w1"}\n{"webhookId":"w1"}\n'], 'a list with several lines in one item'],
    [[{ webhookId: 'w1' }], 'give each line that append took, as text'],
    [[Buffer.from('{}')], 'give each line that append took, as text'],
  ])('refuses what is no list of lines before anything is retried: %j', async (read, told) => {
    fail('e1')
    const message = expect.stringContaining(told)
    const journal = { read: () => read as never, append: () => {} }
    expect(await failureOf(replay({ journal }))).toMatchObject({ code: 'option_invalid', message })
    expect(retried).toEqual([])
  })

  it('accepts lines with their ends, and any iterable', async () => {
    const { lines, journal } = makeJournal()
    fail('e1')
    await replay({ journal })
    const read = async () => new Set(lines.map((line) => `${line}\n`))
    expect(await replay({ journal: { ...journal, read } })).toMatchObject({ retried: 0, resumed: 1 })
  })

  it('stops if its journal fails, since it could not be resumed', async () => {
    for (let n = 0; n < 5; n++) fail(`e${n}`)
    const full = new Error('disk full')
    const append = () => Promise.reject(full)
    expect(await failureOf(replay({ journal: { read: () => [], append }, concurrency: 1 }))).toBe(full)
    expect(retried).toEqual([])
  })

  it('keeps the window with which it began, even if it was a span', async () => {
    for (let n = 0; n < 6; n++) fail(`e${n}`)
    const times = service.logs.get('w1')?.map(({ createdAt }) => new Date(createdAt).getTime()) ?? []
    const { journal } = makeJournal()
    const controller = new AbortController()
    const onProgress = ({ retried }: { retried: number }) => retried === 2 && controller.abort(new Error('enough'))
    const since = new Date(Math.min(...times))
    await failureOf(replay({ journal, since, onProgress, concurrency: 1, signal: controller.signal }))
    const later = new Date(Math.max(...times) + 1)
    const { events, ...result } = await replay({ journal, since: later })
    expect([result.since, events.length]).toEqual([since, 6])
    expect(retried.toSorted()).toEqual(['e0', 'e1', 'e2', 'e3', 'e4', 'e5'])
  })

  it('stays without a window if it began without one', async () => {
    for (let n = 0; n < 4; n++) fail(`e${n}`)
    const { journal } = makeJournal()
    await replay({ journal, limit: 1 })
    const later = new Date(Date.UTC(2030, 0, 1))
    expect(await replay({ journal, since: later })).toMatchObject({ since: undefined, retried: 3, resumed: 1 })
  })

  it('does not retry an older delivery of an event that its journal knows', async () => {
    fail('e1')
    fail('e1')
    service.onRetry = failAgain
    const { journal } = makeJournal()
    expect(await outcomesOf(replay({ journal }))).toEqual({ e1: 'failed' })
    expect(await replay({ journal })).toMatchObject({ retried: 0, resumed: 1, events: [{ outcome: 'failed' }] })
    expect(retried).toEqual(['e1'])
  })

  it('counts its earlier retries towards its limit', async () => {
    for (let n = 0; n < 6; n++) fail(`e${n}`)
    const { journal } = makeJournal()
    await replay({ journal, limit: 2 })
    expect(await replay({ journal, limit: 3 })).toMatchObject({ retried: 1, resumed: 2 })
  })

  it.each<[string, readonly object[], number | undefined, string, number]>([
    ['made again if the log counts no further attempt', [ASKED], 5, 'succeeded', 1],
    ['not made again if the log shows one', [ASKED], 6, 'failed', 0],
    ['not made again if the log counts none', [{ step: 'asked' }], undefined, 'unresolved', 0],
    ['not made again if it was taken on', [ASKED, ACCEPTED], 5, 'failed', 0],
    ['judged by the first of two retries', [ASKED, { ...ASKED, attempts: 6 }], 6, 'failed', 0],
  ])('with a retry in its journal: it is %s', async (_what, noted, attempts, outcome, count) => {
    const { _id } = fail('e1', { attempts } as Partial<StoredDelivery>) // undefined: the log has no total
    const { lines, journal } = makeJournal()
    for (const fields of noted)
      lines.push(JSON.stringify({ webhookId: 'w1', deliveryId: _id, eventId: 'e1', ...fields }))
    expect(await outcomesOf(replay({ journal }))).toEqual({ e1: outcome })
    expect(retried).toHaveLength(count)
  })
})

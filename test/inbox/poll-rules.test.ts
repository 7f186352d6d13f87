import type { InboxEntry } from 'postern'
import { manualClock } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import type { Settlement, TakenItem } from '../../src/engine.ts'
import type { InboxTable, Taken, TakeRequest } from '../../src/inbox/inbox-table.ts'
import { pollInbox } from '../../src/inbox/poll.ts'

const NOTHING: Taken = { items: [] }

function makeEntry(key: string): InboxEntry {
  const event = { accountKey: 'acme', id: key, type: 'a.created', receivedAt: 0, since: 0, dueAt: 0 }
  return { key, bytes: new Uint8Array(), ...event, state: 'running', failures: 0, deaths: 0, marks: [], tries: [] }
}

const bring = (...keys: readonly string[]): Taken => ({ items: keys.map(makeEntry) })

/** A worker on an engine whose part the test plays, with the times of its calls. */
function openPoll(...brought: Taken[]) {
  const clock = manualClock(0)
  const takes: (TakeRequest & { readonly at: number })[] = []
  const renewals: (readonly [at: number, worker: string, leaseMs: number])[] = []
  const settlements: (readonly [at: number, key: string, next: Settlement['next']])[] = []
  const told: string[] = []
  const ends = new Map<string, (settlement: Settlement) => void>()
  const listeners = new Set<() => void>()
  const engine = {
    /** Answers of the next polls. */
    brought,
    /** Answers once there are no more of these. */
    take: (_: TakeRequest): Taken => NOTHING,
    settle: async (): Promise<boolean> => true,
  }
  const table: InboxTable = {
    take: async (request) => {
      takes.push({ ...request, at: clock.now() })
      return engine.brought.shift() ?? engine.take(request)
    },
    renew: async (...request) => void renewals.push([clock.now(), ...request]),
    settle: (item, worker, { next }) => {
      settlements.push([clock.now(), `${item.key} of ${worker}`, next])
      return engine.settle()
    },
    onPut: (callback) => {
      listeners.add(callback)
      return () => void listeners.delete(callback)
    },
  }
  const work = () => {
    const run = ({ key }: TakenItem) => new Promise<Settlement>((resolve) => ends.set(key, resolve))
    return pollInbox(table, 'w', run, {
      concurrency: 5,
      leaseMs: 9_000,
      clock,
      onError: () => expect.unreachable('this engine never fails'),
      onSettled: ({ key }, { next }) => void told.push(`settled ${key} ${next}`),
      onStalled: ({ key }) => void told.push(`stalled ${key}`),
    })
  }
  const end = (key: string) => ends.get(key)?.({ next: 'remove' })
  const put = () => {
    for (const listener of listeners) listener()
  }
  const timesOfTakes = () => takes.map(({ at }) => at)
  return { clock, engine, takes, timesOfTakes, renewals, settlements, told, listeners, work, end, put }
}

describe('the search for items', () => {
  it('begins immediately, and is repeated four times a second', async () => {
    const { clock, takes, timesOfTakes, work } = openPoll()
    work()
    await clock.advance(1_000)
    expect(timesOfTakes()).toEqual([0, 250, 500, 750, 1_000])
    expect(takes[0]).toEqual({ at: 0, worker: 'w', limit: 5, leaseMs: 9_000, suspects: 'take' })
  })

  it('is repeated immediately when this process puts an item, or has ended one', async () => {
    const { clock, end, put, timesOfTakes, work } = openPoll(bring('one'))
    work()
    await clock.advance(100)
    put()
    await clock.advance(100)
    end('one')
    await clock.advance(249)
    expect(timesOfTakes()).toEqual([0, 100, 200])
    await clock.advance(1)
    expect(timesOfTakes()).toEqual([0, 100, 200, 450])
  })
})

const AWAITED: Taken = { items: [], isAwaited: true }

describe('a suspect', () => {
  const wishesOf = ({ takes }: Pick<ReturnType<typeof openPoll>, 'takes'>) =>
    takes.map(({ at, suspects }) => [at, suspects])

  it('gets a busy worker to itself that becomes idle in time', async () => {
    const { clock, end, takes, work } = openPoll(bring('other'), AWAITED, AWAITED, AWAITED)
    work()
    await clock.advance(600)
    end('other')
    await clock.advance(0)
    expect(wishesOf({ takes })).toEqual([
      [0, 'take'],
      [250, 'await'],
      [500, 'await'],
      [600, 'take'],
    ])
  })

  it('has at most half of the time of a worker, which waits longer for it after each time in vain', async () => {
    const { clock, engine, takes, work } = openPoll(bring('endless'))
    work()
    await clock.advance(0)
    engine.take = ({ suspects }) => (suspects === 'await' ? AWAITED : NOTHING)
    await clock.advance(8_000)
    const phases = wishesOf({ takes }).filter(([, wish], index, all) => wish !== all[index - 1]?.[1])
    expect(phases).toEqual([
      [0, 'take'],
      [250, 'await'],
      [1_250, 'leave'],
      [2_250, 'await'],
      [4_250, 'leave'],
      [6_250, 'await'],
    ])
  })
})

describe('closing a worker', () => {
  it('ends an idle one immediately, and leaves no timer and no listener', async () => {
    const { clock, listeners, timesOfTakes, work } = openPoll()
    const loop = work()
    await clock.advance(100)
    expect(listeners.size).toBe(1)
    expect(await loop.close(10_000)).toBe(0)
    expect([listeners.size, clock.pending]).toEqual([0, 0])
    await clock.advance(5_000)
    expect(timesOfTakes()).toEqual([0])
  })

  it.each([
    [0, 1_000],
    [2_000, 2_000],
    [60_000, 8_000],
  ])(
    'after %s ms returns the number of items that ran on for %s ms, and makes them wait again',
    async (timeoutMs, moreMs) => {
      const { clock, end, renewals, settlements, work } = openPoll(bring('one', 'two'))
      const loop = work()
      await clock.advance(0)
      let left: number | undefined
      void loop.close(timeoutMs).then((count) => {
        left = count
      })
      await clock.advance(timeoutMs + moreMs - 1)
      expect(left).toBeUndefined()
      await clock.advance(1)
      expect(left).toBe(2)
      const at = timeoutMs + moreMs
      expect(settlements).toEqual(['one', 'two'].map((key) => [at, `${key} of w`, 'wait']))
      expect(clock.pending).toBe(0)
      await clock.advance(5_000)
      expect(renewals.every(([time]) => time <= at)).toBe(true)
      end('one')
      end('two')
      await clock.advance(3_000)
      expect(settlements).toHaveLength(2)
    },
  )
})

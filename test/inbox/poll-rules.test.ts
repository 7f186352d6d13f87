import { describe, expect, it } from 'vitest'
import type { Taken } from '../../src/inbox/inbox-table.ts'
import { bring, NOTHING, openPoll } from './poll-scene.ts'

describe('the search for items', () => {
  it('begins immediately, and is repeated four times a second', async () => {
    const { clock, takes, timesOfTakes, work } = openPoll()
    work()
    await clock.advance(1_000)
    expect(timesOfTakes()).toEqual([0, 250, 500, 750, 1_000])
    expect(takes[0]).toEqual({ at: 0, worker: 'w', limit: 5, leaseMs: 9_000, suspects: 'take' })
  })

  it('is repeated immediately when this process puts an item, or has ended one', async () => {
    const { clock, end, put, timesOfTakes, work } = openPoll({ brought: [bring('one')] })
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

  it('is repeated immediately if an item was put while it was under way', async () => {
    const { clock, holdTake, put, timesOfTakes, work } = openPoll()
    const answer = holdTake()
    work()
    await clock.advance(100)
    put()
    answer(NOTHING)
    await clock.advance(200)
    expect(timesOfTakes()).toEqual([0, 100])
  })

  it('asks for as many items as there is room for, and for none if there is no room', async () => {
    const { clock, end, put, takes, items, work } = openPoll({
      concurrency: 3,
      brought: [bring('one', 'two'), bring('three')],
    })
    work()
    await clock.advance(1_000)
    put()
    await clock.advance(1_000)
    expect([...items.keys()]).toEqual(['one', 'two', 'three'])
    expect(takes.map(({ limit, suspects }) => [limit, suspects])).toEqual([
      [3, 'take'],
      [1, 'await'],
    ])
    end('two')
    await clock.advance(0)
    expect(takes.at(-1)).toMatchObject({ at: 2_000, limit: 1, suspects: 'await' })
    end('one')
    end('three')
    await clock.advance(250)
    expect(takes.at(-1)).toMatchObject({ limit: 3, suspects: 'take' })
  })

  it('is repeated after a second if the engine failed', async () => {
    const brought = [new Error('away'), new Error('still away')]
    const { clock, told, timesOfTakes, work } = openPoll({ brought })
    work()
    await clock.advance(2_250)
    expect(timesOfTakes()).toEqual([0, 1_000, 2_000, 2_250])
    expect(told).toEqual(['error away', 'error still away'])
  })
})

const AWAITED: Taken = { items: [], isAwaited: true }
const suspect = (ranMs: number): Taken => ({ ...bring('suspect'), ranMs })

describe('a suspect', () => {
  const wishesOf = ({ takes }: Pick<ReturnType<typeof openPoll>, 'takes'>) =>
    takes.map(({ at, suspects }) => [at, suspects])

  it('runs alone until it has run for longer than before, and is then joined', async () => {
    const { clock, put, items, takes, work } = openPoll({ brought: [suspect(1_200), bring('other')] })
    work()
    await clock.advance(4_199)
    put()
    await clock.advance(0)
    expect(takes).toHaveLength(1)
    await clock.advance(1)
    expect(takes.at(-1)).toMatchObject({ at: 4_200, limit: 4, suspects: 'join' })
    expect([...items].map(([key, { isSuspect }]) => [key, isSuspect])).toEqual([
      ['suspect', true],
      ['other', false],
    ])
  })

  it('runs alone for ten seconds at most', async () => {
    const { clock, takes, work } = openPoll({ brought: [suspect(60_000)] })
    work()
    await clock.advance(10_000)
    expect(wishesOf({ takes })).toEqual([
      [0, 'take'],
      [10_000, 'join'],
    ])
  })

  it('is not joined before the engine has stored that', async () => {
    const { clock, takes, work } = openPoll({ brought: [suspect(0), new Error('away')] })
    work()
    await clock.advance(4_000)
    expect(wishesOf({ takes })).toEqual([
      [0, 'take'],
      [3_000, 'join'],
      [4_000, 'join'],
    ])
  })

  it('keeps others waiting no longer when it ends', async () => {
    const { clock, end, takes, work } = openPoll({ brought: [suspect(0), bring('other')] })
    work()
    await clock.advance(100)
    end('suspect')
    await clock.advance(0)
    expect(takes.at(-1)).toMatchObject({ at: 100, limit: 5, suspects: 'leave' })
  })

  it('gets a busy worker to itself that becomes idle in time', async () => {
    const { clock, end, takes, work } = openPoll({ brought: [bring('other'), AWAITED, AWAITED, AWAITED] })
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
    const { clock, engine, takes, work } = openPoll({ brought: [bring('endless')] })
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

  it('waits for others that are due, and for nothing else', async () => {
    const { clock, end, takes, work } = openPoll({ brought: [suspect(0), bring('other'), NOTHING] })
    work()
    await clock.advance(2_000)
    end('suspect')
    await clock.advance(100)
    end('other')
    await clock.advance(250)
    expect(wishesOf({ takes })).toEqual([
      [0, 'take'],
      [2_000, 'leave'],
      [2_100, 'leave'],
      [2_350, 'take'],
    ])
  })
})

describe('the end of a run', () => {
  it('is stored, then told', async () => {
    const { clock, end, items, settlements, told, work } = openPoll({ brought: [bring('one')] })
    work()
    await clock.advance(100)
    expect(items.get('one')).toMatchObject({ key: 'one', worker: 'w', isSuspect: false, signal: { aborted: false } })
    end('one')
    await clock.advance(0)
    expect([settlements, told]).toEqual([[[100, 'one of w', 'remove']], ['settled one remove']])
  })

  it('is stored again each second until the engine has taken it', async () => {
    const { clock, engine, end, settlements, told, work } = openPoll({ brought: [bring('one')] })
    let failures = 2
    engine.settle = async () => {
      if (failures-- > 0) throw new Error('away')
      return true
    }
    work()
    await clock.advance(0)
    end('one')
    await clock.advance(5_000)
    expect(settlements.map(([at]) => at)).toEqual([0, 1_000, 2_000])
    expect(told).toEqual(['error away', 'error away', 'settled one remove'])
  })

  it.each([true, false])('is not told as settled if another worker has taken the item (heard: %s)', async (isHeard) => {
    const { clock, engine, end, settlements, told, work } = openPoll({ brought: [bring('one')] })
    engine.settle = async () => false
    work(isHeard)
    await clock.advance(0)
    end('one')
    await clock.advance(5_000)
    expect(settlements).toHaveLength(1)
    expect(told).toEqual(isHeard ? ['stalled one'] : [])
  })
})

describe('leases', () => {
  it('are renewed at each third, while something runs', async () => {
    const { clock, engine, end, renewals, work } = openPoll()
    work()
    await clock.advance(4_000)
    expect(renewals).toEqual([])
    engine.brought = [bring('one')]
    await clock.advance(6_000)
    expect(renewals).toEqual([
      [6_000, 'w', 9_000],
      [9_000, 'w', 9_000],
    ])
    end('one')
    await clock.advance(9_000)
    expect(renewals).toHaveLength(2)
  })

  it.each([
    [9_000, 500],
    [3_000, 300],
  ])('of %i ms are renewed again after %i ms if the engine failed', async (leaseMs, againMs) => {
    const { clock, engine, renewals, told, work } = openPoll({ leaseMs, brought: [bring('one')] })
    engine.renew = async () => {
      if (renewals.length < 3) throw new Error('away')
    }
    work()
    const third = leaseMs / 3
    await clock.advance(3 * third)
    const times = [third, third + againMs, third + 2 * againMs, 2 * third + 2 * againMs]
    expect(renewals.map(([at]) => at)).toEqual(times.filter((at) => at <= 3 * third))
    expect(told).toEqual(['error away', 'error away'])
  })

  it('are renewed at the same intervals even if the engine is slow', async () => {
    const { clock, engine, renewals, work } = openPoll({ brought: [bring('one')] })
    const slow = [1_000, 4_000]
    engine.renew = () => new Promise<void>((resolve) => void clock.setTimeout(resolve, slow.shift() ?? 0))
    work()
    await clock.advance(13_000)
    expect(renewals.map(([at]) => at)).toEqual([3_000, 6_000, 10_000, 13_000])
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

  it('waits for its runs, and renews their leases', async () => {
    const { clock, end, items, renewals, told, work } = openPoll({ brought: [bring('one', 'two')] })
    const loop = work()
    await clock.advance(100)
    const closed = loop.close(60_000)
    end('one')
    await clock.advance(10_000)
    expect(renewals.map(([at]) => at)).toEqual([3_000, 6_000, 9_000])
    expect(items.get('two')?.signal.aborted).toBe(false)
    end('two')
    expect(await closed).toBe(0)
    expect(told).toEqual(['settled one remove', 'settled two remove'])
    expect(clock.pending).toBe(0)
  })

  it('gives back what a search brings that was under way', async () => {
    const { clock, holdTake, items, settlements, work } = openPoll()
    const answer = holdTake()
    const loop = work()
    await clock.advance(0)
    const closed = loop.close(60_000)
    await clock.advance(100)
    answer(bring('late'))
    expect(await closed).toBe(0)
    expect([items.size, settlements]).toEqual([0, [[100, 'late of w', 'wait']]])
  })

  it('aborts what still runs after its time, and waits for the end of that', async () => {
    const { clock, end, items, work } = openPoll({ brought: [bring('one', 'two')] })
    const loop = work()
    await clock.advance(0)
    const closed = loop.close(6_000)
    end('one')
    await clock.advance(5_999)
    expect(items.get('two')?.signal.aborted).toBe(false)
    await clock.advance(1)
    expect([items.get('one')?.signal.aborted, items.get('two')?.signal.aborted]).toEqual([false, true])
    await clock.advance(5_000)
    end('two')
    expect(await closed).toBe(0)
    expect(clock.pending).toBe(0)
  })

  it.each([
    [0, 1_000],
    [2_000, 2_000],
    [60_000, 8_000],
  ])(
    'after %s ms returns the number of items that ran on for %s ms, and makes them wait again',
    async (timeoutMs, moreMs) => {
      const { clock, end, renewals, settlements, work } = openPoll({ brought: [bring('one', 'two')] })
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

  it('gives back what a poll brings after the worker is closed', async () => {
    const { clock, holdTake, items, settlements, work } = openPoll()
    const answer = holdTake()
    const loop = work()
    await clock.advance(0)
    const closed = loop.close(0)
    await clock.advance(3_000)
    expect(await closed).toBe(0)
    answer(bring('late'))
    await clock.advance(0)
    expect(settlements).toEqual([[3_000, 'late of w', 'wait']])
    expect(items.size).toBe(0)
  })

  it('leaves an item that the engine does not take to its lease', async () => {
    const { clock, engine, end, settlements, work } = openPoll({ brought: [bring('one')] })
    engine.settle = async () => {
      throw new Error('away')
    }
    const loop = work()
    await clock.advance(0)
    end('one')
    const closed = loop.close(500)
    await clock.advance(1_000)
    expect(await closed).toBe(0)
    expect(settlements.map(([at]) => at)).toEqual([0, 1_000])
  })

  it('can wait for ever', async () => {
    const { clock, end, items, work } = openPoll({ brought: [bring('one')] })
    const loop = work()
    await clock.advance(0)
    const closed = loop.close(Number.POSITIVE_INFINITY)
    await clock.advance(3_600_000)
    expect(items.get('one')?.signal.aborted).toBe(false)
    end('one')
    expect(await closed).toBe(0)
  })
})

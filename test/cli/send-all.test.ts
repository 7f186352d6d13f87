import { describe, expect, it } from 'vitest'
import { sendAll, shuffle } from '../../tools/cli/service/send-all.ts'

const { signal: never } = new AbortController()

describe('things that are done at a pace', () => {
  it.each([
    [1, 1],
    [9, 5],
  ])('are begun in order, %d at the same time', async (concurrency, most) => {
    const begun: number[] = []
    let running = 0
    let peak = 0
    const send = async (one: number) => {
      begun.push(one)
      peak = Math.max(peak, ++running)
      await new Promise(setImmediate)
      running--
    }
    await sendAll([1, 2, 3, 4, 5], send, { concurrency, rate: undefined, signal: never })
    expect([begun, peak, running]).toEqual([[1, 2, 3, 4, 5], most, 0])
  })

  it('begin in steps of the rate, the first one immediately', async () => {
    const begin = performance.now()
    const times: number[] = []
    const send = async () => void times.push(performance.now() - begin)
    const sending = sendAll([1, 2, 3], send, { concurrency: 3, rate: 20, signal: never })
    expect(times).toHaveLength(1)
    await sending
    expect(times).toHaveLength(3)
    for (const [index, time] of times.entries()) expect(time).toBeGreaterThan(index * 50 - 2)
  })

  it.each([undefined, 1e6])('begin no more once the signal has aborted, at a rate of %s', async (rate) => {
    const stop = new AbortController()
    const begun: number[] = []
    const send = async (one: number) => {
      begun.push(one)
      if (one === 2) stop.abort()
    }
    await sendAll([1, 2, 3, 4], send, { concurrency: 1, rate, signal: stop.signal })
    expect(begun).toEqual([1, 2])
    await sendAll([5], send, { concurrency: 1, rate, signal: stop.signal })
    expect(begun).toEqual([1, 2])
  })

  it('begin no more once one has failed', async () => {
    const begun: number[] = []
    const send = (one: number) => {
      begun.push(one)
      return Promise.reject(new Error('cut'))
    }
    const pace = { concurrency: 3, rate: 20, signal: never }
    await expect(sendAll([1, 2, 3], send, pace)).rejects.toThrow('cut')
    await sendAll([4, 5, 6], async (one) => void begun.push(one), { ...pace, signal: never }) // as long as the others would take
    expect(begun).toEqual([1, 4, 5, 6])
  })
})

it('shuffles by the numbers that it draws, and leaves the list as it is', () => {
  const numbers = [0.5, 0.9, 0.1]
  const all = ['a', 'b', 'c']
  expect(shuffle(all, () => numbers.shift() ?? 0)).toEqual(['c', 'a', 'b'])
  expect(all).toEqual(['a', 'b', 'c'])
})

import { describe, expect, it } from 'vitest'
import { sendAll } from '../../tools/cli/service/send-all.ts'

const { signal: never } = new AbortController()

describe('things that are done at a pace', () => {
  it.each([
    [1, 1],
    [9, 5],
  ])('are begun in order, %d at the same time', async (concurrent, most) => {
    const begun: number[] = []
    let running = 0
    let peak = 0
    const send = async (one: number) => {
      begun.push(one)
      peak = Math.max(peak, ++running)
      await new Promise(setImmediate)
      running--
    }
    await sendAll([1, 2, 3, 4, 5], send, { concurrent, signal: never })
    expect([begun, peak, running]).toEqual([[1, 2, 3, 4, 5], most, 0])
  })

  it('begin no more once one has failed', async () => {
    const begun: number[] = []
    const send = (one: number) => {
      begun.push(one)
      return Promise.reject(new Error('cut'))
    }
    const pace = { concurrent: 3, rate: 20, signal: never }
    await expect(sendAll([1, 2, 3], send, pace)).rejects.toThrow('cut')
    await sendAll([4, 5, 6], async (one) => void begun.push(one), { ...pace, signal: never }) // as long as the others would take
    expect(begun).toEqual([1, 4, 5, 6])
  })
})

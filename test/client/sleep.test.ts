import { getEventListeners } from 'node:events'
import { manualClock } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { sleep } from '../../src/client/sleep.ts'

const listenersOf = (signal: AbortSignal) => getEventListeners(signal, 'abort').length
const reason = new Error('stopped')

describe('sleep', () => {
  it('ends when its time is over, and listens no more', async () => {
    const clock = manualClock()
    const { signal } = new AbortController()
    let isOver = false
    const slept = sleep(clock, 1_000, signal).then(() => {
      isOver = true
    })
    expect([clock.pending, listenersOf(signal)]).toEqual([1, 1])
    await clock.advance(999)
    expect(isOver).toBe(false)
    await clock.advance(1)
    await slept
    expect([clock.pending, listenersOf(signal)]).toEqual([0, 0])
  })

  it('rejects with the reason of the signal, also if it was aborted before, and leaves no timer', async () => {
    const clock = manualClock()
    const controller = new AbortController()
    const slept = sleep(clock, 1_000, controller.signal)
    controller.abort(reason)
    await expect(slept).rejects.toBe(reason)
    await expect(sleep(clock, 1_000, controller.signal)).rejects.toBe(reason)
    expect([clock.pending, listenersOf(controller.signal)]).toEqual([0, 0])
  })
})

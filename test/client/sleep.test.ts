import { getEventListeners } from 'node:events'
import { manualClock } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { sleep, untilAborted } from '../../src/client/sleep.ts'

const listenersOf = (signal: AbortSignal) => getEventListeners(signal, 'abort').length
const reason = new Error('stopped')

/** A clock that counts its active timers. */
function countTimers() {
  const clock = manualClock()
  let set = 0
  return {
    clock: {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      setTimeout: (callback: () => void, ms: number) => {
        set++
        return clock.setTimeout(() => {
          set--
          callback()
        }, ms)
      },
      clearTimeout: (timer: unknown) => {
        set--
        clock.clearTimeout(timer)
      },
    },
    advance: (ms: number) => clock.advance(ms),
    count: () => set,
  }
}

describe('sleep', () => {
  it('ends when its time is over, and listens no more', async () => {
    const { clock, advance, count } = countTimers()
    const { signal } = new AbortController()
    let isOver = false
    const slept = sleep(clock, 1_000, signal).then(() => {
      isOver = true
    })
    expect([count(), listenersOf(signal)]).toEqual([1, 1])
    await advance(999)
    expect(isOver).toBe(false)
    await advance(1)
    await slept
    expect([count(), listenersOf(signal)]).toEqual([0, 0])
  })

  it('needs no signal', async () => {
    const { clock, advance } = countTimers()
    const slept = sleep(clock, 10, undefined)
    await advance(10)
    await slept
  })

  it('rejects with the reason of the signal, and leaves no timer', async () => {
    const { clock, count } = countTimers()
    const controller = new AbortController()
    const slept = sleep(clock, 1_000, controller.signal)
    controller.abort(reason)
    await expect(slept).rejects.toBe(reason)
    expect([count(), listenersOf(controller.signal)]).toEqual([0, 0])
  })

  it('does not begin if the signal was aborted before', async () => {
    const { clock, count } = countTimers()
    await expect(sleep(clock, 1_000, AbortSignal.abort(reason))).rejects.toBe(reason)
    expect(count()).toBe(0)
  })
})

describe('untilAborted', () => {
  it('passes the result of the work on, and listens no more', async () => {
    const { signal } = new AbortController()
    expect(await untilAborted(Promise.resolve(5), undefined)).toBe(5)
    expect(await untilAborted(Promise.resolve(5), signal)).toBe(5)
    await expect(untilAborted(Promise.reject(reason), signal)).rejects.toBe(reason)
    await Promise.resolve()
    expect(listenersOf(signal)).toBe(0)
  })

  it('gives up as soon as the signal aborts, or if it has before, and listens no more', async () => {
    const controller = new AbortController()
    const forEver = new Promise(() => {})
    const given = untilAborted(forEver, controller.signal)
    controller.abort(reason)
    await expect(given).rejects.toBe(reason)
    expect(listenersOf(controller.signal)).toBe(0)
    await expect(untilAborted(forEver, AbortSignal.abort(reason))).rejects.toBe(reason)
  })
})

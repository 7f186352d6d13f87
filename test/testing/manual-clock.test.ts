import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { manualClock } from 'postern/testing'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { runs } from '../support/runs.ts'
import { startWatch } from '../support/watch.ts'

const START = '2025-01-01T00:00:00.000Z'
const start = Date.parse(START)

describe('a manual clock', () => {
  it.each([START, start, new Date(start), undefined])('starts at %s and does not move', async (time) => {
    const clock = manualClock(time)
    expect([clock.now(), clock.monotonic(), clock.pending]).toEqual([start, 0, 0])
    await sleep(5)
    expect(clock.now()).toBe(start)
  })

  it.each([
    ['30s', 30_000],
    ['5m30s', 330_000],
    ['2h', 7_200_000],
    ['1d', 86_400_000],
    ['250ms', 250],
    ['1.5s', 1_500],
    [0, 0],
    [12, 12],
  ])('moves by %s', async (by, ms) => {
    const clock = manualClock(START)
    await clock.advance(by)
    expect([clock.now(), clock.monotonic()]).toEqual([start + ms, ms])
  })

  it.each(['', 'soon', '5', '5 m', '5x', '-5s', '5sm', -1, Number.NaN, Infinity])('does not move by %s', async (by) => {
    const clock = manualClock(START)
    await expect(clock.advance(by)).rejects.toThrow(/give milliseconds/)
    expect(clock.now()).toBe(start)
  })

  it('refuses an invalid start', () => {
    for (const text of ['yesterday', '2025/01/01', 'Jan 1 2025', '2025-1-1', '2025-01-01 00:00'])
      expect(() => manualClock(text)).toThrow(`start is "${text}"; give ISO 8601`)
  })

  it('runs timers in order, each at its own time, and those that they set', async () => {
    const clock = manualClock(START)
    const log: string[] = []
    const note = (name: string) => log.push(`${name} ${clock.monotonic()}`)
    clock.setTimeout(() => note('c'), 300)
    clock.setTimeout(() => note('a'), 100)
    clock.setTimeout(() => {
      note('b')
      clock.setTimeout(() => note('b1'), 50)
      clock.setTimeout(() => note('b2'), 0)
    }, 200)
    clock.setTimeout(() => note('late'), 301)
    clock.clearTimeout(clock.setTimeout(() => note('never'), 10))
    await clock.advance(300)
    expect(log).toEqual(['a 100', 'b 200', 'b2 200', 'b1 250', 'c 300'])
    expect([clock.monotonic(), clock.pending]).toEqual([300, 1])
  })

  it('treats a timer that another one clears at the same time as cleared', async () => {
    const clock = manualClock(START)
    let ran = 0
    let second: unknown
    clock.setTimeout(() => clock.clearTimeout(second), 10)
    second = clock.setTimeout(() => ran++, 10)
    await clock.advance(10)
    expect(ran).toBe(0)
  })

  it('lets chains of promises settle between two timers', async () => {
    const clock = manualClock(START)
    const log: string[] = []
    clock.setTimeout(async () => {
      for (let count = 0; count < 100; count++) await null
      await new Promise((resolve) => setImmediate(resolve))
      log.push(`chain ${clock.monotonic()}`)
    }, 100)
    clock.setTimeout(() => log.push(`timer ${clock.monotonic()}`), 101)
    await clock.advance(200)
    expect(log).toEqual(['chain 100', 'timer 101'])
  })

  it.concurrent('waits for work that was registered with it, even if that takes real time', async () => {
    const clock = manualClock(START)
    const log: string[] = []
    clock.setTimeout(() => clock.track(sleep(30).then(() => log.push(`work ${clock.monotonic()}`))), 100)
    clock.setTimeout(() => log.push('timer'), 101)
    await clock.advance(200)
    expect(log).toEqual(['work 100', 'timer'])
  })

  it.concurrent('waits for work that begins some turns after its timer fired', async () => {
    const clock = manualClock(START)
    const log: string[] = []
    const work = async () => log.push(`work ${await sleep(30, clock.monotonic())}`)
    clock.setTimeout(() => setImmediate(() => setImmediate(() => clock.track(work()))), 100)
    clock.setTimeout(() => log.push('timer'), 101)
    await clock.advance(200)
    expect(log).toEqual(['work 100', 'timer'])
  })

  it.concurrent('does not wait for work that has ended', async () => {
    const clock = manualClock(START)
    for (const work of [sleep(10), Promise.reject(new Error('not ours'))]) clock.track(work)
    for (let ms = 1; ms <= 20; ms++) clock.setTimeout(() => {}, ms)
    const watch = startWatch()
    await clock.advance(20)
    expect(watch()).toBeLessThan(4_000) // five seconds with a wait at each timer
  })

  it.concurrent('waits less for work that begins to hang at the same time as other work', async () => {
    const clock = manualClock(START)
    for (let n = 0; n < 6; n++) clock.setTimeout(() => clock.track(new Promise(() => {})), 1)
    const watch = startWatch()
    await clock.advance(1)
    expect(watch()).toBeLessThan(5_000) // six seconds with the whole wait each time
  })

  it.concurrent('continues after a while without work that hangs, and treats a rejection as an end', async () => {
    const clock = manualClock(START)
    clock.track(new Promise(() => {}))
    clock.track(Promise.reject(new Error('not ours')))
    let ran = 0
    clock.setTimeout(() => ran++, 10)
    const begun = performance.now()
    await clock.advance(10)
    expect(ran).toBe(1)
    expect(performance.now() - begun).toBeGreaterThan(200)
  })

  it.concurrent('waits for work that takes 700 ms of real time, and as long for the next', async () => {
    const clock = manualClock(START)
    const log: string[] = []
    clock.setTimeout(() => {
      for (const ms of [700, 1_400]) clock.track(sleep(ms).then(() => log.push(`work ${clock.monotonic()}`)))
    }, 100)
    clock.setTimeout(() => log.push('timer'), 101)
    await clock.advance(200)
    expect(log).toEqual(['work 100', 'work 100', 'timer'])
  })

  it.concurrent('waits less for work that has hung before', async () => {
    const clock = manualClock(START)
    clock.track(new Promise(() => {}))
    for (let ms = 1; ms <= 4; ms++) clock.setTimeout(() => {}, ms)
    const watch = startWatch()
    await clock.advance(4)
    expect(watch()).toBeLessThan(4_000)
  })

  it('jumps to the next due timer, and returns whether there was one', async () => {
    const clock = manualClock(START)
    const log: number[] = []
    for (const ms of [500, 100, 100]) clock.setTimeout(() => log.push(clock.monotonic()), ms)
    expect([await clock.next(), [...log]]).toEqual([true, [100, 100]])
    expect([await clock.next(), [...log]]).toEqual([true, [100, 100, 500]])
    expect(await clock.next()).toBe(false)
    expect(clock.monotonic()).toBe(500)
  })

  it('moves one step after the other, even if no caller waits', async () => {
    const clock = manualClock(START)
    const log: number[] = []
    clock.setTimeout(() => log.push(clock.monotonic()), 15)
    const [first, second] = [clock.advance(10), clock.advance(10)]
    await Promise.all([first, second])
    expect([log, clock.monotonic()]).toEqual([[15], 20])
  })

  it('reports a timer that throws, and can still be moved', async () => {
    const clock = manualClock(START)
    clock.setTimeout(() => {
      throw new Error('thrown by a timer')
    }, 10)
    await expect(clock.advance(20)).rejects.toThrow('thrown by a timer')
    await clock.advance(20)
    expect(clock.monotonic()).toBe(30)
  })

  it('fails instead of continuing for ever if a timer of 0 ms sets itself again', async () => {
    const clock = manualClock(START)
    let ran = 0
    const again = () => {
      ran++
      clock.setTimeout(again, 0)
    }
    clock.setTimeout(again, 10)
    await expect(clock.advance(20)).rejects.toThrow('1000 timers of 0 ms in a row')
    expect([ran, clock.monotonic()]).toEqual([1_000, 10])
  })

  it('runs any set of timers in the order of their times', async () => {
    const delays = fc.array(fc.integer({ min: 0, max: 1_000 }), { maxLength: 12 })
    const property = fc.asyncProperty(delays, fc.integer({ min: 0, max: 1_000 }), async (all, end) => {
      const clock = manualClock(START)
      const log: number[] = []
      for (const ms of all) clock.setTimeout(() => log.push(clock.monotonic()), ms)
      await clock.advance(end)
      const due = all.filter((ms) => ms <= end).sort((a, b) => a - b)
      expect(log).toEqual(due)
      expect(clock.pending).toBe(all.length - due.length)
    })
    await fc.assert(property, runs(50))
  })
})

describe('under global fake timers', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  it('moves as usual', async () => {
    vi.useFakeTimers()
    const clock = manualClock(START)
    let ran = 0
    clock.setTimeout(() => ran++, 10)
    await clock.advance(10)
    expect(ran).toBe(1)
  })
})

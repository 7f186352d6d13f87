import { systemClock } from 'postern'
import { describe, expect, it, vi } from 'vitest'
import { TimerQueue } from '../../src/host/timer-queue.ts'
import { ManualClock } from '../receiver/support.ts'

/** A manual clock whose timers can be unreferenced, like Node's. */
class SharingClock extends ManualClock {
  refs = 0
  sets = 0

  override setTimeout(callback: () => void, ms: number): unknown {
    this.sets++
    const id = super.setTimeout(() => {
      timer.unref()
      callback()
    }, ms)
    let isRef = true
    this.refs++
    const timer = {
      id,
      ref: () => {
        if (!isRef) this.refs++
        isRef = true
      },
      unref: () => {
        if (isRef) this.refs--
        isRef = false
      },
    }
    return timer
  }

  override clearTimeout(timer: unknown): void {
    const { id, unref } = timer as { readonly id: unknown; unref(): void } // only values of setTimeout
    unref()
    super.clearTimeout(id)
  }
}

describe.each([
  ['timers that can be shared', () => new SharingClock()],
  ['a timer for each call', () => new ManualClock()],
])('a queue with %s', (_kind, toClock) => {
  function scene() {
    const clock = toClock()
    const queue = new TimerQueue(clock)
    const calls: string[] = []
    const set = (name: string, inMs: number) =>
      queue.set(clock.monotonic() + inMs, () => calls.push(`${name} ${clock.monotonic() - 1_000}`))
    return { clock, queue, calls, set }
  }

  it('calls back at the right time if hundreds are set for later, and clears such timers', async () => {
    const { clock, queue, calls, set } = scene()
    for (let ms = 10_000; ms < 10_300; ms++) set(`late ${ms}`, ms)
    set('early', 5)
    const cleared = set('cleared', 6)
    set('amid', 10_100.5)
    queue.clear(cleared)
    expect(clock.pending).toBe(clock instanceof SharingClock ? 3 : 302)
    await clock.advance(5)
    expect(calls).toEqual(['early 5'])
    await clock.advance(20_000)
    expect(calls).toHaveLength(302)
    expect(calls).toContain('amid 10100.5')
    expect(clock.pending).toBe(0)
  })

  it('calls back once each, in the order of their times', async () => {
    const { clock, calls, set } = scene()
    set('c', 30)
    set('a', 10)
    set('d', 40)
    set('b', 20)
    set('again', 10)
    await clock.advance(100)
    expect(calls).toEqual(['a 10', 'again 10', 'b 20', 'c 30', 'd 40'])
  })

  it('never calls back a cleared timer, wherever it was in the queue', async () => {
    const { clock, queue, calls, set } = scene()
    const timers = ['a', 'b', 'c', 'd'].map((name, index) => set(name, 10 * (index + 1)))
    for (const index of [1, 0, 3]) {
      const timer = timers[index]
      if (timer !== undefined) queue.clear(timer)
    }
    await clock.advance(100)
    expect(calls).toEqual(['c 30'])
    for (const timer of timers) queue.clear(timer)
    set('e', 5)
    await clock.advance(100)
    expect(calls).toEqual(['c 30', 'e 105'])
  })

  it('accepts timers that are set and cleared while others fire', async () => {
    const { clock, queue, calls, set } = scene()
    const doomed = set('doomed', 20)
    queue.set(clock.monotonic() + 20, () => set('late', 0))
    queue.set(clock.monotonic() + 10, () => {
      queue.clear(doomed)
      set('next', 5)
    })
    await clock.advance(100)
    expect(calls).toEqual(['next 15', 'late 20'])
  })

  it('keeps the times of others if one that fires sets a later one', async () => {
    const { clock, queue, calls, set } = scene()
    queue.set(clock.monotonic() + 10, () => set('set meanwhile', 60))
    set('second', 12)
    set('third', 20)
    await clock.advance(100)
    expect(calls).toEqual(['second 12', 'third 20', 'set meanwhile 70'])
  })

  it('continues if a callback clears the last of the others', async () => {
    const { clock, queue, calls, set } = scene()
    const last = queue.set(clock.monotonic() + 20, () => expect.unreachable())
    queue.set(clock.monotonic() + 10, () => queue.clear(last))
    await clock.advance(10)
    set('next', 5)
    await clock.advance(100)
    expect([calls, clock.pending]).toEqual([['next 15'], 0])
  })

  it('needs one timer of its host a call at most', async () => {
    const { clock, set } = scene()
    const setTimeout = vi.spyOn(clock, 'setTimeout')
    set('first', 10)
    const before = setTimeout.mock.calls.length
    for (let count = 0; count < 10; count++) set('same time', 10)
    expect(setTimeout.mock.calls.length - before).toBe(clock instanceof SharingClock ? 0 : 10)
    await clock.advance(10)
  })

  it('continues if a callback throws', async () => {
    const { clock, queue, calls, set } = scene()
    queue.set(clock.monotonic() + 10, () => {
      throw new Error('no')
    })
    set('after', 10)
    set('later', 20)
    await expect(clock.advance(100)).rejects.toThrow('no')
    await clock.advance(100)
    expect(calls.map((call) => call.split(' ')[0])).toEqual(['after', 'later'])
  })
})

describe('a shared timer', () => {
  it('is set once for any number of timers of one length, and keeps the process alive only while one is needed', async () => {
    const clock = new SharingClock()
    const queue = new TimerQueue(clock)
    for (let count = 0; count < 1_000; count++) {
      const timer = queue.set(clock.monotonic() + 8_000, () => expect.unreachable())
      expect(clock.refs).toBe(1)
      clock.block(1)
      queue.clear(timer)
      expect(clock.refs).toBe(0)
    }
    expect(clock.sets).toBe(1)
    await clock.advance(8_000)
    expect([clock.pending, clock.refs]).toEqual([0, 0])
  })

  it('keeps the process alive while one of several is needed', () => {
    const clock = new SharingClock()
    const queue = new TimerQueue(clock)
    const timers = [1, 2, 3].map(() => queue.set(clock.monotonic() + 8_000, () => expect.unreachable()))
    for (const [index, timer] of timers.entries()) {
      queue.clear(timer)
      expect(clock.refs).toBe(index < 2 ? 1 : 0)
    }
  })

  it('does not keep the process alive for timers that were set and cleared while others fire', async () => {
    const clock = new SharingClock()
    const queue = new TimerQueue(clock)
    queue.set(clock.monotonic() + 10, () =>
      queue.clear(queue.set(clock.monotonic() + 8_000, () => expect.unreachable())),
    )
    queue.set(clock.monotonic() + 10, () => {})
    await clock.advance(10)
    expect(clock.refs).toBe(0)
  })

  it('is set again for a timer that is due earlier', async () => {
    const clock = new SharingClock()
    const queue = new TimerQueue(clock)
    const calls: string[] = []
    queue.set(clock.monotonic() + 100, () => calls.push('late'))
    queue.set(clock.monotonic() + 10, () => calls.push('early'))
    await clock.advance(10)
    expect([calls, clock.sets]).toEqual([['early'], 3])
    await clock.advance(90)
    expect([calls, clock.pending]).toEqual([['early', 'late'], 0])
  })

  it('that fires a moment early by the other clock still runs its callbacks', () => {
    const clock = {
      ...systemClock,
      monotonic: () => 0,
      setTimeout: (callback: () => void) => Object.assign(queueIt(callback), { ref() {}, unref() {} }),
    }
    const waiting: (() => void)[] = []
    const queueIt = (callback: () => void) => ({ index: waiting.push(callback) })
    let calls = 0
    new TimerQueue(clock).set(8_000, () => calls++)
    waiting[0]?.()
    expect([calls, waiting.length]).toEqual([1, 1])
  })
})

describe('waitFor', () => {
  const queueOf = (clock: ManualClock) => new TimerQueue(clock)
  const toError = (cause: unknown) => (cause as Error).message // tests reject with errors

  it('returns a result that comes in time, and leaves no timer', async () => {
    const clock = new ManualClock()
    const waited = [
      queueOf(clock).waitFor(Promise.resolve(7), 100, String, toError),
      queueOf(clock).waitFor(Promise.reject<number>(new Error('no')), 100, String, toError),
    ]
    expect(await Promise.all(waited)).toEqual(['7', 'no'])
    expect(clock.pending).toBe(0)
  })

  it('gives up after its time, and passes late results on', async () => {
    const clock = new ManualClock()
    const late: number[] = []
    let resolve = (_value: number) => {}
    const work = new Promise<number>((done) => {
      resolve = done
    })
    const waited = queueOf(clock).waitFor(work, 100, String, toError, (value) => late.push(value))
    await clock.advance(100)
    expect(await waited).toBe('no answer within 100 ms')
    resolve(7)
    await clock.advance(0)
    expect(late).toEqual([7])
  })

  it('reports that there was no time at all', async () => {
    const clock = new ManualClock()
    const waited = queueOf(clock).waitFor(new Promise(() => {}), 0, String, toError)
    await clock.advance(0)
    expect(await waited).toBe('no time was left when it was asked')
  })
})

it('shares no timer on workerd, whose timers look like Node’s and end with the request that set them', async () => {
  vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' })
  const clock = new SharingClock()
  const queue = new TimerQueue(clock)
  const calls: number[] = []
  for (const ms of [10, 20, 30]) queue.set(clock.monotonic() + ms, () => calls.push(ms))
  vi.unstubAllGlobals()
  expect(clock.pending).toBe(3)
  await clock.advance(30)
  expect(calls).toEqual([10, 20, 30])
})

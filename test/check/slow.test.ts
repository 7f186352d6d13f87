import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { OneAtATime } from './architectures.ts'
import { type Event, HandWritten } from './faulty/hand-written.ts'
import { judge, told } from './judge.ts'

/** Takes a thirtieth of the time limit for an event, and handles one after the other. */
class SlowSerial extends OneAtATime {
  override async work(event: Event): Promise<void> {
    await sleep(100)
    return super.work(event)
  }
}

/** Takes as long, and handles all side by side. */
class SlowParallel extends HandWritten {
  override async work(event: Event): Promise<void> {
    await sleep(100)
    return super.work(event)
  }
}

const ONLY = ['accepts-valid', 'burst', 'effect-one-record-at-once', 'effect-once-at-once', 'alive-after-all']
const LIMITS = { only: ONLY, timeoutMs: 3_000, patienceMs: 10_000 }

describe('a slow receiver without a fault', () => {
  it.concurrent.each([1, 8])(
    'passes if it works on one event after the other, and gets no burst: %d checks at a time',
    async (concurrency) => {
      const report = await judge(new SlowSerial(), { ...LIMITS, concurrency })
      expect(report).not.toHaveProperty('diagnosis')
      expect(told(report, 'fail')).toEqual({})
      expect(told(report, 'skipped').burst).toMatch(/^not judged, since the receiver is too slow for a burst: /)
    },
  )

  it('gets a whole burst if it works on many at the same time', async () => {
    const report = await judge(new SlowParallel(), LIMITS)
    expect(told(report, 'fail', 'skipped')).toEqual({})
  })
})

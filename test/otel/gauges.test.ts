import type { Inbox } from 'postern'
import { manualClock } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { observeGauges } from '../../src/otel/gauges.ts'
import { Gate } from '../support/gate.ts'
import { Sdk } from './scene.ts'

/** Gauges of an inbox that answers as a test wants. */
function observe(counts: () => unknown) {
  const sdk = new Sdk()
  const clock = manualClock('2025-01-01T00:00:00Z')
  const inbox = { counts } as unknown as Inbox // only this part of it is used
  const view = { name: 'shop', inbox, inFlight: 3, stop() {} }
  const stop = observeGauges(sdk.meterProvider.getMeter('test'), view, clock)
  const read = async (name: string) => (await sdk.points(name)).map(([, value]) => value)
  return { sdk, clock, stop, read }
}

describe('the gauges', () => {
  it('query the inbox again after 30 s, no matter how often they are read', async () => {
    let queries = 0
    const { clock, read } = observe(async () => {
      queries++
      const oldestDueAt = clock.now() - 5_000
      return { waiting: queries, running: 0, dead: 0, oldestDueAt: queries === 1 ? oldestDueAt : undefined }
    })
    const seen: unknown[] = []
    for (const ms of [0, 29_999, 1]) {
      await clock.advance(ms)
      seen.push([...(await read('postern.inbox.waiting')), ...(await read('postern.inbox.oldest.age'))])
    }
    expect(seen).toEqual([
      [1, 5],
      [1, 5],
      [2, 0],
    ])
  })

  it('take the age of an event that waits for another one of its lane', async () => {
    const { clock, read } = observe(async () => {
      const [oldestDueAt, oldestParkedAt] = [clock.now() - 2_000, clock.now() - 5_000]
      return { waiting: 3, running: 0, dead: 0, oldestDueAt, parked: 2, oldestParkedAt }
    })
    expect([await read('postern.inbox.parked'), await read('postern.inbox.oldest.age')]).toEqual([[2], [5]])
  })

  it('leave out an inbox that fails, count that, and report the rest', async () => {
    const { read } = observe(() => Promise.reject(new Error('away')))
    expect(await read('postern.inbox.waiting')).toEqual([])
    expect(await read('postern.in_flight')).toEqual([3])
    expect(await read('postern.inbox.query_failures')).toEqual([3])
  })

  it('do not wait for an inbox that hangs, nor query it a second time meanwhile', async () => {
    const gate = new Gate<object>()
    let queries = 0
    const { clock, read } = observe(() => [queries++, gate.promise][1])
    expect(await read('postern.in_flight')).toEqual([3])
    await clock.advance(60_000)
    const reading = read('postern.inbox.dead')
    gate.open({ waiting: 0, running: 0, dead: 7, oldestDueAt: undefined })
    expect([await reading, queries]).toEqual([[7], 1])
  })
})

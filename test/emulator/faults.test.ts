import { describe, expect, it } from 'vitest'
import type { EmulatorDelivery } from '../../tools/emulator/delivery.ts'
import { createFaults, type Faults } from '../../tools/emulator/faults.ts'
import { createRandom } from '../../tools/emulator/random.ts'

// the key of the draw
const deliveryOf = (id: string, attempts = 0) =>
  ({ id, attempts: new Array(attempts).fill({}) }) as unknown as EmulatorDelivery

/** The draws for attempts 1 to 20 of 50 deliveries. */
function drawAll<T>(seed: string | undefined, draw: (faults: Faults, delivery: EmulatorDelivery) => T): readonly T[] {
  const half = { fail: 0.5, duplicate: 0.5, shuffle: true, latencyMs: [0, 100] } as const
  const faults = createFaults(createRandom(seed), half)
  return Array.from({ length: 1_000 }, (_, index) => draw(faults, deliveryOf(`d${index % 50}`, Math.floor(index / 50))))
}

const fails = (faults: Faults, delivery: EmulatorDelivery) => faults.draw('fail', delivery)

it('draws the requested share, for each attempt again', () => {
  const drawn = drawAll('seed', fails)
  expect(Math.abs(drawn.filter(Boolean).length - 500)).toBeLessThan(60)
  const failuresOfEach = Array.from({ length: 50 }, (_, of) =>
    drawn.filter((isFailed, at) => isFailed && at % 50 === of),
  )
  for (const failures of failuresOfEach) expect(Math.abs(failures.length - 10)).toBeLessThan(10)
})

it('draws the same for the same seed, and nothing that can be predicted without one', () => {
  const latency = (faults: Faults, delivery: EmulatorDelivery) => faults.drawLatencyMs(delivery)
  expect(drawAll('seed', latency)).toEqual(drawAll('seed', latency))
  expect(drawAll('seed', latency)).not.toEqual(drawAll('another', latency))
  expect(drawAll(undefined, latency)).not.toEqual(drawAll(undefined, latency))
  for (const ms of drawAll('seed', latency)) expect(ms >= 0 && ms < 100).toBe(true)
})

describe('requested faults', () => {
  it('of answers are taken in the order of the requests, each as often as it was requested', () => {
    const none = { fail: 0, duplicate: 0, shuffle: false, latencyMs: undefined }
    const faults = createFaults(createRandom('seed'), none)
    expect([faults.takeAnswer(), faults.answers]).toEqual([undefined, []])
    faults.addAnswer({ answer: '500', count: 2, delayMs: 0 })
    faults.addAnswer({ answer: 'slow', count: 1, delayMs: 7 })
    faults.addAnswer({ answer: '401', count: 1, delayMs: 0 })
    const taken = Array.from({ length: 5 }, () => [
      faults.takeAnswer()?.answer,
      faults.answers.map(({ count }) => count),
    ])
    expect(taken).toEqual([
      ['500', [1, 1, 1]],
      ['500', [1, 1]],
      ['slow', [1]],
      ['401', []],
      [undefined, []],
    ])
  })
})

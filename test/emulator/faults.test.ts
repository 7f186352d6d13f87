import { expect, it } from 'vitest'
import type { Delivery } from '../../src/emulator/delivery.ts'
import { Faults } from '../../src/emulator/faults.ts'
import { createRandom } from '../../src/emulator/random.ts'

// the key of the draw
const deliveryOf = (id: string, attempts = 0) => ({ id, attempts: new Array(attempts).fill({}) }) as unknown as Delivery

/** The draws for attempts 1 to 20 of 50 deliveries. */
function drawAll<T>(seed: string | undefined, draw: (faults: Faults, delivery: Delivery) => T): readonly T[] {
  const half = { fail: 0.5, duplicate: 0.5, shuffle: true, latencyMs: [0, 100] } as const
  const faults = new Faults(createRandom(seed), half)
  return Array.from({ length: 1_000 }, (_, index) => draw(faults, deliveryOf(`d${index % 50}`, Math.floor(index / 50))))
}

const fails = (faults: Faults, delivery: Delivery) => faults.draw('fail', delivery)
const duplicates = (faults: Faults, delivery: Delivery) => faults.draw('duplicate', delivery)

it('draws the requested share, for each attempt again', () => {
  const drawn = drawAll('seed', fails)
  expect(Math.abs(drawn.filter(Boolean).length - 500)).toBeLessThan(60)
  const failuresOfEach = Array.from({ length: 50 }, (_, of) =>
    drawn.filter((isFailed, at) => isFailed && at % 50 === of),
  )
  for (const failures of failuresOfEach) expect(Math.abs(failures.length - 10)).toBeLessThan(10)
})

it('draws one fault independently of another', () => {
  const [failing, copied] = [drawAll('seed', fails), drawAll('seed', duplicates)]
  expect(Math.abs(failing.filter((isFailed, at) => isFailed === copied[at]).length - 500)).toBeLessThan(60)
})

it('draws the same for the same seed, and nothing that can be predicted without one', () => {
  const latency = (faults: Faults, delivery: Delivery) => faults.drawLatencyMs(delivery)
  expect(drawAll('seed', latency)).toEqual(drawAll('seed', latency))
  expect(drawAll('seed', latency)).not.toEqual(drawAll('another', latency))
  expect(drawAll(undefined, latency)).not.toEqual(drawAll(undefined, latency))
  for (const ms of drawAll('seed', latency)) expect(ms >= 0 && ms < 100).toBe(true)
})

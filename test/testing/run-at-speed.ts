import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'
import { onTestFinished, vi } from 'vitest'

/**
 * Runs work while `performance.now()` is so many times as fast, so that a long limit ends soon, or a stall of the machine counts less.
 */
export async function runAtSpeed<T>(factor: number, work: () => Promise<T>): Promise<T> {
  const { now } = performance
  const start = performance.now()
  performance.now = () => start + factor * (now.call(performance) - start)
  try {
    return await work()
  } finally {
    performance.now = now
  }
}

/** Makes time pass in `sleep` and by `pass` only, until the test ends. */
export function makeTime() {
  let now = 0
  const pass = (ms = 0) => {
    now += ms
  }
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  vi.spyOn(timers, 'setTimeout').mockImplementation(async (ms) => pass(ms) as never)
  syncBuiltinESMExports()
  onTestFinished(() => {
    vi.restoreAllMocks()
    syncBuiltinESMExports()
  })
  return { monotonic: () => now, pass }
}

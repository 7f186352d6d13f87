import { systemClock } from 'postern'
import { describe, expect, it } from 'vitest'

describe('systemClock', () => {
  it('returns wall time, and a time that never goes back', async () => {
    expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(1_000)
    const before = systemClock.monotonic()
    await new Promise<void>((resolve) => systemClock.setTimeout(resolve, 5))
    expect(systemClock.monotonic() - before).toBeGreaterThanOrEqual(4)
  })

  it('does not call back a cleared timer', async () => {
    let isCalled = false
    const timer = systemClock.setTimeout(() => {
      isCalled = true
    }, 1)
    systemClock.clearTimeout(timer)
    systemClock.clearTimeout(undefined)
    await new Promise<void>((resolve) => systemClock.setTimeout(resolve, 20))
    expect(isCalled).toBe(false)
  })
})

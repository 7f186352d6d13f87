import { expect, it } from 'vitest'
import { RateLimiter } from '../../tools/emulator/rate-limit.ts'

function makeLimiter(limit: number) {
  const clock = { time: 100, now: () => clock.time }
  return { clock, limiter: new RateLimiter(clock, { limit, windowMs: 10 }) }
}

it('counts down to zero, and is exceeded by the first request above the limit', () => {
  const { limiter } = makeLimiter(2)
  const window = { limit: 2, resetAt: 110 }
  expect(['a', 'a', 'a', 'a'].map((caller) => limiter.take(caller))).toEqual([
    { ...window, remaining: 1, isExceeded: false },
    { ...window, remaining: 0, isExceeded: false },
    { ...window, remaining: 0, isExceeded: true },
    { ...window, remaining: 0, isExceeded: true },
  ])
})

it('counts each caller in a window that begins with its first request and ends by the clock', () => {
  const { clock, limiter } = makeLimiter(1)
  limiter.take('a')
  clock.time = 105
  expect(limiter.take('b')).toMatchObject({ resetAt: 115, isExceeded: false })
  clock.time = 109
  expect(limiter.take('a')).toMatchObject({ resetAt: 110, isExceeded: true })
  clock.time = 110
  expect(limiter.take('a')).toMatchObject({ resetAt: 120, isExceeded: false })
  expect(limiter.take('b')).toMatchObject({ resetAt: 115, isExceeded: true })
})

it('starts again once it is cleared', () => {
  const { limiter } = makeLimiter(1)
  limiter.take('a')
  limiter.clear()
  expect(limiter.take('a')).toMatchObject({ isExceeded: false })
})

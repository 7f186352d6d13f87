import { expect, it } from 'vitest'
import { showDuration } from '../../src/host/duration.ts'

it.each([
  [-5, '0 ms'],
  [50.4, '50 ms'],
  [999.6, '1 s'],
  [1_000, '1 s'],
  [1_549, '1.5 s'],
  [9_940, '9.9 s'],
  [59_700, '1 min'],
  [310_000, '5 min 10 s'],
  [3_605_000, '1 h'],
  [9_330_000, '2 h 36 min'],
  [200_000_000, '2 d 8 h'],
  [Number.NaN, 'an unknown time'],
])('shows %d ms as %s, with two units at most', (ms, text) => {
  expect(showDuration(ms)).toBe(text)
})

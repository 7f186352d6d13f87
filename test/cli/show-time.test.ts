import { expect, it } from 'vitest'
import { showTime } from '../../src/cli/output/show-time.ts'

it.each([
  [-5, '0 ms'],
  [50.4, '50 ms'],
  [999.6, '1 s'],
  [1_000, '1 s'],
  [1_549, '1.5 s'],
  [9_940, '9.9 s'],
  [10_000, '10 s'],
  [59_700, '1 min'],
  [300_000, '5 min'],
  [310_000, '5 min 10 s'],
  [3_600_000, '1 h'],
  [3_605_000, '1 h 5 s'],
  [9_305_000, '2 h 35 min'],
  [90_000_000, '25 h'],
])('shows %d ms as %s, with two units at most', (ms, text) => {
  expect(showTime(ms)).toBe(text)
})

import { expect, it } from 'vitest'
import { hasColour } from '../../tools/cli/io.ts'
import { createTestIo } from './test-io.ts'

it.each([
  [true, true, {}],
  [true, true, { NO_COLOR: '' }],
  [false, true, { NO_COLOR: '1' }],
  [false, true, { TERM: 'dumb' }],
  [false, false, {}],
])('has colours: %j, at a terminal: %j, with %j', (expected, isTTY, env) => {
  const { io } = createTestIo({ isTTY, env })
  expect(hasColour(io, io.stdout)).toBe(expected)
})

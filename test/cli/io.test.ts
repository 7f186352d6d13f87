import { expect, it } from 'vitest'
import { BrokenOutput, hasColour, writeOut } from '../../src/cli/io.ts'
import { createTestIo } from './test-io.ts'

it.each([
  [true, {}, true],
  [true, { NO_COLOR: '' }, true],
  [true, { TERM: 'xterm' }, true],
  [true, { NO_COLOR: '1' }, false],
  [true, { TERM: 'dumb' }, false],
  [false, {}, false],
])('uses colours at a terminal, unless the environment refuses them: %s, %j', (isTTY, env, isColoured) => {
  const { io } = createTestIo({ isTTY, env })
  expect(hasColour(io, io.stdout)).toBe(isColoured)
})

it.each([
  ['EPIPE', 141, 'standard output was closed'],
  ['ENOSPC', 1, 'standard output cannot be written: no space left'],
])('names why standard output is broken, with its exit code: %s', (code, exitCode, message) => {
  const cause = Object.assign(new Error('no space left'), { code })
  expect(new BrokenOutput(cause)).toMatchObject({ exitCode, message, cause })
})

it('writes text to the end, or tells why it is lost', async () => {
  const { io, written } = createTestIo()
  await writeOut(io.stdout, 'secret')
  expect(written.stdout).toBe('secret')
  const full = new Error('no space left')
  await expect(writeOut({ write: (_text, callback) => callback?.(full) }, 'secret')).rejects.toBe(full)
})

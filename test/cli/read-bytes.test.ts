import { expect, it } from 'vitest'
import { readBytes, readStdin } from '../../src/cli/input/read-bytes.ts'
import { createTestIo } from './test-io.ts'

it('reads standard input to its end, and says so at a terminal only', async () => {
  const piped = createTestIo({ stdin: 'body' })
  expect(`${await readStdin(piped.io)}`).toBe('body')
  expect(piped.written.stderr).toBe('')
  const typed = createTestIo()
  const stdin = Object.assign(typed.io.stdin, { isTTY: true })
  expect(`${await readStdin({ ...typed.io, stdin })}`).toBe('')
  expect(typed.written.stderr).toBe('reading standard input, to its end (Ctrl-D)\n')
})

it('is left at Ctrl-C, before it reads standard input and while it does', async () => {
  const { io, interrupt } = createTestIo()
  async function* wait() {
    yield await new Promise<never>(() => {})
  }
  const reading = readStdin({ ...io, stdin: wait() })
  interrupt()
  await expect(reading).rejects.toBe(io.interrupt.reason)
  await expect(readStdin(io)).rejects.toBe(io.interrupt.reason)
})

it('names a file that cannot be read', async () => {
  await expect(readBytes('/nowhere/at/all')).rejects.toMatchObject({
    ...{ exitCode: 2, message: expect.stringContaining('/nowhere/at/all cannot be read: ENOENT') },
  })
})

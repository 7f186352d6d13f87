import { describe, expect, it } from 'vitest'
import { confirm, mustBeMeant, untilQuit } from '../../src/cli/input/keys.ts'
import { createTestIo } from './test-io.ts'

describe('a question', () => {
  it.each([
    ['y', true],
    ['Y', true],
    ['n', false],
    ['\r', false],
  ])('is answered by the first key: %j', async (key, answer) => {
    const terminal = createTestIo()
    const asked = confirm('Delete all?', terminal.io)
    expect(terminal.written.stderr).toBe('Delete all? [y/N] ')
    for (const each of [key, 'y']) terminal.press(each)
    expect(await asked).toBe(answer)
    expect(terminal.written.stderr).toBe('Delete all? [y/N] \n')
    expect(terminal.listenerCount).toBe(0)
  })

  it('ends the command if there is no terminal, or its input has ended', async () => {
    const { io } = createTestIo()
    const ended = { ...io, stdin: Object.assign(io.stdin, { readableEnded: true }) }
    const refused = { exitCode: 2, message: 'Delete all?', fix: 'If this is intended, add --yes.' }
    for (const each of [createTestIo({ hasKeys: false }).io, ended])
      await expect(confirm('Delete all?', each)).rejects.toMatchObject(refused)
  })

  it('ends the command at Ctrl-C, before and after it is asked', async () => {
    const terminal = createTestIo()
    const asked = confirm('Delete all?', terminal.io)
    terminal.interrupt()
    await expect(asked).rejects.toMatchObject({ name: 'AbortError' })
    expect(terminal.listenerCount).toBe(0)
    await expect(confirm('Delete all?', terminal.io)).rejects.toMatchObject({ name: 'AbortError' })
  })

  it('ends a command that destroys something, unless the answer is yes', async () => {
    const terminal = createTestIo()
    const meant = mustBeMeant('Delete all?', terminal.io)
    terminal.press('y')
    await expect(meant).resolves.toBeUndefined()
    const refused = mustBeMeant('Delete all?', terminal.io)
    terminal.press('n')
    await expect(refused).rejects.toMatchObject({ exitCode: 1, message: 'nothing was changed' })
  })
})

describe('a command that runs until q is pressed', () => {
  it('passes all other keys on, and says why one failed', async () => {
    const terminal = createTestIo()
    const keys: string[] = []
    const reasons: unknown[] = ['there is none', new Error('it is closed')]
    const ended = untilQuit(terminal.io, async (key) => {
      keys.push(key)
      throw reasons.pop()
    })
    for (const key of ['a', 'Q']) terminal.press(key)
    await expect.poll(() => terminal.written.stderr).toBe('it is closed\nthere is none\n')
    terminal.press('q')
    await ended
    expect(keys).toEqual(['a', 'Q'])
    expect(terminal.listenerCount).toBe(0)
  })

  it.each([true, false])('ends at Ctrl-C, with a terminal or without: %s', async (hasKeys) => {
    const terminal = createTestIo({ hasKeys })
    const ended = untilQuit(terminal.io, async () => {})
    terminal.interrupt()
    await ended
    await untilQuit(terminal.io, async () => {})
    expect(terminal.listenerCount).toBe(0)
  })
})

import { describe, expect, it } from 'vitest'
import { mustBeMeant, untilQuit } from '../../tools/cli/input/keys.ts'
import { createTestIo } from './test-io.ts'

describe('a question', () => {
  it.each([
    ['y', undefined],
    ['Y', undefined],
    ['n', { exitCode: 1, message: 'nothing was changed' }],
    ['\r', { exitCode: 1, message: 'nothing was changed' }],
  ])('is answered by the first key: %j', async (key, refusal) => {
    const terminal = createTestIo()
    const asked = mustBeMeant('Delete all?', terminal.io)
    expect(terminal.written.stderr).toBe('Delete all? [y/N] ')
    for (const each of [key, 'y']) terminal.press(each)
    if (refusal === undefined) await asked
    else await expect(asked).rejects.toMatchObject(refusal)
    expect(terminal.written.stderr).toBe('Delete all? [y/N] \n')
    expect(terminal.listenerCount).toBe(0)
  })

  it('ends the command if there is no terminal, or its input has ended', async () => {
    const { io } = createTestIo()
    const ended = { ...io, stdin: Object.assign(io.stdin, { readableEnded: true }) }
    const refused = { exitCode: 2, message: 'Delete all?', fix: 'If this is intended, add --yes.' }
    for (const each of [createTestIo({ hasKeys: false }).io, ended])
      await expect(mustBeMeant('Delete all?', each)).rejects.toMatchObject(refused)
  })

  it('ends the command at Ctrl-C, before and after it is asked', async () => {
    const terminal = createTestIo()
    const asked = mustBeMeant('Delete all?', terminal.io)
    terminal.interrupt()
    await expect(asked).rejects.toMatchObject({ name: 'AbortError' })
    expect(terminal.listenerCount).toBe(0)
    await expect(mustBeMeant('Delete all?', terminal.io)).rejects.toMatchObject({ name: 'AbortError' })
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

import { describe, expect, it } from 'vitest'
import { confirm, mustBeMeant } from '../../src/cli/input/confirm.ts'
import { untilQuit } from '../../src/cli/input/until-quit.ts'
import { createTestIo } from './test-io.ts'

describe('a question', () => {
  it.each([
    ['y', true],
    ['Y', true],
    ['n', false],
    ['\r', false],
    ['x', false],
  ])('is answered by one key: %j', async (key, answer) => {
    const terminal = createTestIo()
    const asked = confirm('Delete all?', terminal.io)
    expect(terminal.written.stderr).toBe('Delete all? [y/N] ')
    terminal.press(key)
    expect(await asked).toBe(answer)
    expect(terminal.written.stderr).toBe('Delete all? [y/N] \n')
    expect(terminal.listenerCount).toBe(0)
  })

  it('takes the first of several keys that come together', async () => {
    const terminal = createTestIo()
    const asked = confirm('Delete all?', terminal.io)
    terminal.press('n')
    terminal.press('y')
    expect(await asked).toBe(false)
  })

  it.each([
    ['there is no terminal', createTestIo({ hasKeys: false }).io],
    ['its input was ended behind a password', withEndedInput()],
  ])('ends the command if %s', async (_what, io) => {
    await expect(confirm('Delete all?', io)).rejects.toMatchObject({
      ...{ exitCode: 2, message: 'Delete all?', fix: 'If this is intended, add --yes.' },
    })
  })

  it('is left at Ctrl-C, before and after it is asked', async () => {
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

function withEndedInput() {
  const { io } = createTestIo()
  return { ...io, stdin: Object.assign(io.stdin, { readableEnded: true }) }
}

describe('a command that runs until q is pressed', () => {
  it('hands on all other keys, and ends with 0', async () => {
    const terminal = createTestIo()
    const keys: string[] = []
    const ended = untilQuit(terminal.io, async (key) => void keys.push(key))
    for (const key of ['a', 'Q', 'q']) terminal.press(key)
    expect(await ended).toBe(0)
    expect(keys).toEqual(['a', 'Q'])
    expect(terminal.listenerCount).toBe(0)
  })

  it('says what a key cannot do, and goes on', async () => {
    const terminal = createTestIo()
    const reasons: unknown[] = ['there is none', new Error('it is closed')]
    const ended = untilQuit(terminal.io, () => Promise.reject(reasons.pop()))
    for (const key of ['r', 's']) terminal.press(key)
    await expect.poll(() => terminal.written.stderr).toBe('it is closed\nthere is none\n')
    terminal.press('q')
    expect(await ended).toBe(0)
  })

  it.each([true, false])('ends with 130 at Ctrl-C, with a terminal or without: %s', async (hasKeys) => {
    const terminal = createTestIo({ hasKeys })
    const ended = untilQuit(terminal.io, async () => {})
    terminal.interrupt()
    expect(await ended).toBe(130)
    expect(await untilQuit(terminal.io, async () => {})).toBe(130)
    expect(terminal.listenerCount).toBe(0)
  })
})

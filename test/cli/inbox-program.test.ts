import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { makeTestFolder } from '../support/test-folder.ts'
import { many, readCounts, work } from './inbox-file.ts'
import { makeDeadLetters } from './make-dead-letters.ts'
import { type BuiltProgram, buildProgram } from './program.ts'
import { readLines } from './run-cli.ts'

const SLOW = 120_000

let program: BuiltProgram
beforeAll(async () => {
  program = await buildProgram()
}, SLOW)
afterAll(() => program.remove())

let file: string
beforeEach(() => {
  file = join(makeTestFolder(), 'app.db')
})

describe('postern inbox replay, as a program', () => {
  it.each(['SIGINT', 'SIGKILL'] as const)(
    'continues after %s, and runs each event once',
    { timeout: SLOW },
    async (signal) => {
      const all = many(400)
      await makeDeadLetters(file, all)
      const runs = work(file, () => {})
      const line = `exec postern inbox replay --all --sqlite ${file} --yes --json`
      const first = program.start(`${line} --rate 80`)
      await first.until(/"type":"progress","phase":"replaying","done":\d+,"total":400,"etaMs":\d+/)
      signal === 'SIGINT' ? first.interrupt() : first.kill()
      const code = await first.exitCode
      const done = (await readCounts(file))?.dead
      expect(Number(done)).toBeGreaterThan(100)
      expect(Number(done)).toBeLessThan(400)
      if (signal === 'SIGINT') {
        expect(code).toBe(130)
        expect(readLines(first.stdout).at(-1)).toMatchObject({ isComplete: false, replayed: 400 - Number(done) })
        expect(first.stderr).toContain('Run the same command again to continue with the rest')
        expect(first.stderr).not.toContain('Warning')
      }
      const second = program.start(line)
      expect(await second.exitCode).toBe(0)
      expect(readLines(second.stdout).at(-1)).toMatchObject({ isComplete: true, total: done, replayed: done })
      await expect.poll(() => readCounts(file)).toMatchObject({ waiting: 0, running: 0 })
      expect(runs.toSorted()).toEqual(all.map(({ id }) => id).toSorted())
    },
  )

  it('gets from the log of a dead letter the commands to inspect and replay it, and a shell runs nothing of its id', async () => {
    const id = 'evt_\'$(id>pwned)`id>pwned`"\\'
    const messages: string[] = []
    await makeDeadLetters(file, [{ id }], undefined, (message) => messages.push(message))
    const [message = ''] = messages
    const [, show = '', again = ''] = /To look at it: (.*)\. To try again: (.*)\.$/.exec(message) ?? []
    const shown = program.start(`${show}; ls`)
    expect(await shown.exitCode).toBe(0)
    expect(shown.stdout).toContain(`event              ${id}\n`)
    expect(shown.stdout).not.toContain('pwned\n')
    const replayed = program.start(again)
    expect(await replayed.exitCode, replayed.stderr).toBe(0)
    expect(await readCounts(file)).toMatchObject({ waiting: 1 })
  })
})

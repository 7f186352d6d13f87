import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createReceiver, DeadLetter } from 'postern'
import { openSqlite, sqliteInbox, sqliteStore } from 'postern/sqlite'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { makeDeadLetters, type Unlucky } from './make-dead-letters.ts'
import { type BuiltProgram, buildProgram } from './program.ts'
import { readLines, runCli, startCli } from './run-cli.ts'

const SLOW = 120_000
const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

const root = mkdtempSync(join(tmpdir(), 'postern-inbox-cli-'))
let program: BuiltProgram
beforeAll(async () => {
  program = await buildProgram()
}, SLOW)
afterAll(async () => {
  await program.remove()
  rmSync(root, { recursive: true, force: true })
})

let file: string
beforeEach(() => {
  file = join(mkdtempSync(join(root, 'case-')), 'app.db')
})

const keyOf = (id: string) => `7:default4:acme${id.length}:${id}`
const replay = (...args: readonly string[]) => runCli(['inbox', 'replay', ...args, '--sqlite', file])
const many = (count: number, fields: Partial<Unlucky> = {}) =>
  Array.from({ length: count }, (_, index): Unlucky => ({ id: `evt_${index}`, ...fields }))

async function readCounts(): Promise<Readonly<Record<string, unknown>> | undefined> {
  return readLines((await runCli(['inbox', 'counts', '--sqlite', file, '--json'])).stdout)[0]
}

/** Starts a worker, and records the events that it runs. */
function work(handle: () => void): readonly string[] {
  const database = openSqlite(file)
  const options = { inbox: sqliteInbox({ database }), store: sqliteStore({ database }) }
  const receiver = createReceiver({ secret: 'test-secret', logger: quiet, ...options })
  const runs: string[] = []
  receiver.on('*', { name: 'crm' }, ({ id }) => {
    runs.push(id)
    handle()
  })
  receiver.work()
  onTestFinished(async () => {
    await receiver.close()
    database.close()
  })
  return runs
}

describe('postern inbox replay', () => {
  it('makes one dead letter run again, once', async () => {
    await makeDeadLetters(file, many(2))
    expect(await replay(keyOf('evt_1'))).toEqual({ code: 0, stdout: '', stderr: '1 of 1 dead letter replayed\n' })
    expect(await readCounts()).toMatchObject({ waiting: 1, dead: 1 })
    expect(await replay(keyOf('evt_1'))).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^postern: contact\.created evt_1 is not a dead letter: its next try is \d{4}-.*\n$/,
      ),
    })
    const runs = work(() => {})
    await expect.poll(readCounts).toMatchObject({ waiting: 0, running: 0 })
    expect(runs).toEqual(['evt_1'])
  })

  it('replays all of some types, and lists them before on request', async () => {
    await makeDeadLetters(file, [...many(3), { id: 'evt_9', type: 'contact.deleted' }])
    const filter = ['--all', '--type', '*.deleted,import.*']
    const planned = await replay(...filter, '--dry-run')
    expect(planned).toMatchObject({ code: 0, stderr: '1 dead letter would be replayed\n' })
    expect(planned.stdout).toMatch(
      /^KEY +TYPE +EVENT +DEAD SINCE +CODE\n7:default4:acme5:evt_9 +contact\.deleted [^\n]*\n$/,
    )
    expect(await readCounts()).toMatchObject({ dead: 4 })
    const { code, stdout } = await replay(...filter, '--yes', '--json')
    expect([code, ...readLines(stdout)]).toEqual([
      0,
      expect.objectContaining({ type: 'item', outcome: 'replayed', eventId: 'evt_9', code: 'dead_letter' }),
      { type: 'summary', isComplete: true, total: 1, replayed: 1, gone: 0 },
    ])
    expect(await readCounts()).toMatchObject({ dead: 3, waiting: 1 })
    expect(await replay(...filter)).toMatchObject({ code: 0, stderr: 'there is no such dead letter\n' })
  })

  it('asks before it replays all', async () => {
    await makeDeadLetters(file, many(3))
    expect(await runCli(['inbox', 'replay', '--all', '--sqlite', file], { hasKeys: false })).toMatchObject({
      code: 2,
      stderr: 'postern: 3 dead letters would be replayed. If this is intended, add --yes.\n',
    })
    for (const [key, code, dead] of [['n', 1, 3] as const, ['y', 0, 0] as const]) {
      const asked = startCli(['inbox', 'replay', '--all', '--sqlite', file])
      await asked.until(/3 dead letters would be replayed\. \[y\/N\]/)
      asked.press(key)
      expect(await asked.exitCode).toBe(code)
      expect(await readCounts()).toMatchObject({ dead })
    }
  })

  it.each([
    ['neither a key nor --all', []],
    ['both', ['k', '--all']],
    ['--type with a key', ['k', '--type', 'contact.*']],
    ['a rate of nothing', ['--all', '--rate', '0']],
  ])('refuses %s, with code 2', async (_what, args) => {
    await makeDeadLetters(file, many(1))
    expect((await replay(...args)).code).toBe(2)
  })

  it('does not replay a second time an event that dies again meanwhile', { timeout: SLOW }, async () => {
    const all = many(300)
    await makeDeadLetters(file, all)
    const runs = work(() => {
      throw new DeadLetter('still not there')
    })
    expect(await replay('--all', '--yes', '--rate', '600/s')).toMatchObject({ code: 0 })
    await expect.poll(async () => (await readCounts())?.dead, { timeout: SLOW }).toBe(all.length)
    expect(runs.toSorted()).toEqual(all.map(({ id }) => id).toSorted())
  })

  it('leaves out events that another replay has taken first', async () => {
    await makeDeadLetters(file, many(200))
    const results = await Promise.all([replay('--all', '--yes', '--json'), replay('--all', '--yes', '--json')])
    const summaries = results.map(({ code, stdout }) => ({ code, ...readLines(stdout).at(-1) }))
    const replayed = summaries.map((summary) => Number((summary as Record<string, unknown>).replayed))
    expect(summaries.map(({ code }) => code)).toEqual([0, 0])
    expect((replayed[0] ?? 0) + (replayed[1] ?? 0)).toBe(200)
    expect(await readCounts()).toMatchObject({ waiting: 200, dead: 0 })
  })

  it('ends with code 3 while another process has the file locked, and reports its progress', async () => {
    await makeDeadLetters(file, many(3))
    const other = openSqlite(file)
    other.exec('BEGIN IMMEDIATE')
    const { code, stdout, stderr } = await replay('--all', '--yes', '--json')
    other.exec('ROLLBACK') // libsql keeps the lock of a connection that is closed
    other.close()
    expect(code).toBe(3)
    expect(stderr).toMatch(/(^|\n)0 of 3 dead letters replayed\nRun the same command again .*\npostern: .*locked.*\n$/)
    const [summary, error] = readLines(stdout)
    expect(summary).toEqual({ type: 'summary', isComplete: false, total: 3, replayed: 0, gone: 0 })
    expect(error).toMatchObject({ error: { code: 'store_unavailable' } })
    expect(await replay('--all', '--yes')).toMatchObject({ code: 0, stderr: '3 of 3 dead letters replayed\n' })
  })
})

describe('the program', () => {
  it.each(['SIGINT', 'SIGKILL'] as const)(
    'continues after %s, and runs each event once',
    { timeout: SLOW },
    async (signal) => {
      const all = many(400)
      await makeDeadLetters(file, all)
      const runs = work(() => {})
      const line = `exec postern inbox replay --all --sqlite ${file} --yes --json`
      const first = program.start(`${line} --rate 80`)
      await first.until(/"type":"progress","phase":"replaying","done":\d+,"total":400,"etaMs":\d+/)
      signal === 'SIGINT' ? first.interrupt() : first.kill()
      const code = await first.exitCode
      const done = (await readCounts())?.dead
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
      await expect.poll(readCounts, { timeout: SLOW }).toMatchObject({ waiting: 0, running: 0 })
      expect(runs.toSorted()).toEqual(all.map(({ id }) => id).toSorted())
    },
  )

  it('names the driver to install if there is none', async () => {
    await makeDeadLetters(file, many(1))
    const preload = join(root, 'without-drivers.cjs')
    writeFileSync(
      preload,
      `const Module = require('node:module')
const resolve = Module._resolveFilename
Module._resolveFilename = function (name, ...rest) {
  if (/^(libsql|better-sqlite3)/.test(name)) throw Object.assign(new Error(name), { code: 'MODULE_NOT_FOUND' })
  return resolve.call(this, name, ...rest)
}
process.getBuiltinModule = () => undefined`,
    )
    const run = program.start(`postern inbox counts --sqlite ${file}`, { NODE_OPTIONS: `--require ${preload}` })
    expect(await run.exitCode).toBe(3)
    expect(run.stdout).toBe('')
    expect(run.stderr).toMatch(/^postern: openSqlite found no driver [^\n]*Run `npm install libsql`[^\n]*\n$/)
  })

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
    expect(await readCounts()).toMatchObject({ waiting: 1 })
  })
})

import { join } from 'node:path'
import { DeadLetter, RetryLater } from 'postern'
import { openSqlite } from 'postern/sqlite'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { makeTestFolder } from '../support/test-folder.ts'
import { keyOf, many, readCounts, work } from './inbox-file.ts'
import { makeDeadLetters } from './make-dead-letters.ts'
import { ended, readLines, runCli, startCli } from './run-cli.ts'

let file: string
beforeEach(() => {
  file = join(makeTestFolder(), 'app.db')
})

const replay = (...args: readonly string[]) => runCli(['inbox', 'replay', ...args, '--sqlite', file])

describe('postern inbox replay', () => {
  it('makes one dead letter run again, once', async () => {
    await makeDeadLetters(file, many(2))
    expect(await replay(keyOf('evt_1'))).toEqual({ code: 0, stdout: '', stderr: '1 of 1 dead letter replayed\n' })
    expect(await readCounts(file)).toMatchObject({ waiting: 1, dead: 1 })
    const refusal = /^postern: contact\.created evt_1 cannot be replayed: it is due\.\n$/
    expect(await replay(keyOf('evt_1'))).toEqual(ended(1, refusal))
    const runs = work(file, () => {})
    await expect.poll(() => readCounts(file)).toMatchObject({ waiting: 0, running: 0 })
    expect(runs).toEqual(['evt_1'])
  })

  it('makes an event run now that waits for a later try, which --all does not', async () => {
    await makeDeadLetters(file, many(1))
    await replay(keyOf('evt_0'))
    const runs = work(file, () => {
      if (runs.length === 1) throw new RetryLater(3_600_000)
    })
    await expect.poll(() => runs).toEqual(['evt_0'])
    await expect.poll(() => readCounts(file)).toMatchObject({ waiting: 1, running: 0 })
    expect(await replay('--all', '--yes')).toMatchObject({ stderr: 'there is no such dead letter\n' })
    expect((await replay(keyOf('evt_0'), '--dry-run')).stderr).toBe('1 waiting event would be replayed\n')
    expect((await replay(keyOf('evt_0'))).stderr).toBe('1 of 1 waiting event replayed\n')
    await expect.poll(() => readCounts(file)).toMatchObject({ waiting: 0, running: 0 })
    expect(runs).toEqual(['evt_0', 'evt_0'])
  })

  it('lists and replays the others beside a row whose times are damaged', async () => {
    await makeDeadLetters(file, many(2))
    const database = openSqlite(file)
    database.exec("UPDATE postern_inbox SET due_at = 1e17 WHERE id = 'evt_0'")
    database.close()
    const listed = await runCli(['inbox', 'list', '--sqlite', file, '--json'])
    expect(listed.code).toBe(0)
    expect(readLines(listed.stdout)).toContainEqual(expect.objectContaining({ eventId: 'evt_0', dueAt: null }))
    expect(await replay('--all', '--yes')).toMatchObject({ code: 0, stderr: '2 of 2 dead letters replayed\n' })
  })

  it('replays all of some types, and lists them before on request', async () => {
    await makeDeadLetters(file, [...many(3), { id: 'evt_9', type: 'contact.deleted' }])
    const filter = ['--all', '--type', '*.deleted,import.*']
    const planned = await replay(...filter, '--dry-run')
    expect(planned).toMatchObject({ code: 0, stderr: '1 dead letter would be replayed\n' })
    expect(planned.stdout).toMatch(/^KEY +TYPE +EVENT +DEAD SINCE +CODE\n7:\S+:evt_9 +contact\.deleted [^\n]*\n$/)
    expect(await readCounts(file)).toMatchObject({ dead: 4 })
    const { code, stdout } = await replay(...filter, '--yes', '--json')
    expect([code, ...readLines(stdout)]).toEqual([
      0,
      expect.objectContaining({ type: 'item', outcome: 'replayed', eventId: 'evt_9', code: 'dead_letter' }),
      { type: 'summary', isComplete: true, total: 1, replayed: 1, gone: 0 },
    ])
    expect(await readCounts(file)).toMatchObject({ dead: 3, waiting: 1 })
    expect(await replay(...filter)).toMatchObject({ code: 0, stderr: 'there is no such dead letter\n' })
  })

  it('asks before it replays all', async () => {
    await makeDeadLetters(file, many(3))
    const line = `inbox replay --all --sqlite ${file}`
    const advice = 'postern: 3 dead letters would be replayed. If this is intended, add --yes.\n'
    expect(await runCli(line, { hasKeys: false })).toEqual(ended(2, advice))
    for (const [key, code, dead] of [['n', 1, 3] as const, ['y', 0, 0] as const]) {
      const asked = startCli(line)
      await asked.until(/3 dead letters would be replayed\. \[y\/N\]/)
      asked.press(key)
      expect(await asked.exitCode).toBe(code)
      expect(await readCounts(file)).toMatchObject({ dead })
    }
  })

  it.each([
    ['neither a key nor --all', []],
    ['--type with a key', ['k', '--type', 'contact.*']],
    ['a rate of nothing', ['--all', '--rate', '0']],
  ])('refuses %s, with code 2', async (_what, args) => {
    await makeDeadLetters(file, many(1))
    expect((await replay(...args)).code).toBe(2)
  })

  it('replays more dead letters than it reads at a time, with their times', async () => {
    await makeDeadLetters(file, many(101))
    const planned = await replay('--all', '--dry-run', '--json')
    expect(planned.stderr).toBe('101 dead letters would be replayed\n')
    const [first, ...more] = readLines(planned.stdout)
    expect(first).toEqual({
      type: 'item',
      outcome: 'planned',
      key: keyOf('evt_0'),
      eventType: 'contact.created',
      eventId: 'evt_0',
      state: 'dead',
      deadSince: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      code: 'dead_letter',
    })
    expect([more.length, more.at(-1)]).toEqual([101, { type: 'summary', isComplete: true, total: 101 }])
    expect((await replay('--all', '--yes')).stderr).toBe('101 of 101 dead letters replayed\n')
    expect(await readCounts(file)).toMatchObject({ waiting: 101, dead: 0 })
    expect(await replay('--all', '--dry-run')).toEqual(ended(0, /^there is no such dead letter\n$/))
    expect(await replay('--all', '--json')).toMatchObject({ code: 0, stderr: 'there is no such dead letter\n' })
  })

  it('leaves out what another process drops before the answer to its question', async () => {
    await makeDeadLetters(file, many(2))
    const asked = startCli(['inbox', 'replay', '--all', '--sqlite', file, '--json'])
    await asked.until(/2 dead letters would be replayed/)
    await runCli(['inbox', 'drop', keyOf('evt_0'), '--sqlite', file, '--yes'])
    asked.press('y')
    expect(await asked.exitCode).toBe(0)
    expect(asked.stderr).toMatch(/\n1 of 2 dead letters replayed, 1 left out: replayed or dropped by another .*\n$/)
    expect(readLines(asked.stdout)).toMatchObject([
      { outcome: 'gone', eventId: 'evt_0' },
      { outcome: 'replayed', eventId: 'evt_1' },
      { type: 'summary', isComplete: true, total: 2, replayed: 1, gone: 1 },
    ])
  })

  it.each([
    ['people', [], /^replaying 1\/3 {2}33\.3% {2}eta [23] s\n/],
    ['programs', ['--json'], /^\{"type":"progress","phase":"replaying","done":1,"total":3,"etaMs":2\d{3}\}\n/],
  ])('tells %s after a second how far it is, and goes on after Ctrl-C', async (_who, options, progress) => {
    await makeDeadLetters(file, many(3))
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const first = startCli(['inbox', 'replay', '--all', '--sqlite', file, '--yes', '--rate', '1/s', ...options])
    await vi.waitFor(async () => expect(await readCounts(file)).toMatchObject({ dead: 2 }), 60_000)
    vi.advanceTimersByTime(1_000)
    expect(first.stderr).toMatch(progress)
    first.interrupt()
    expect(await first.exitCode).toBe(130)
    expect(first.stderr).toMatch(/\n1 of 3 dead letters replayed\nRun the same command again to continue .*\n$/)
    expect(await replay('--all', '--yes')).toMatchObject({ code: 0, stderr: '2 of 2 dead letters replayed\n' })
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

describe('postern inbox replay, beside workers and other replays', () => {
  it('does not replay a second time an event that dies again meanwhile', async () => {
    const all = many(40)
    await makeDeadLetters(file, all)
    const runs = work(file, () => {
      throw new DeadLetter('still not there')
    })
    expect(await replay('--all', '--yes', '--rate', '600/s')).toMatchObject({ code: 0 })
    await expect.poll(async () => (await readCounts(file))?.dead).toBe(all.length)
    expect(runs.toSorted()).toEqual(all.map(({ id }) => id).toSorted())
  })

  it('leaves out events that another replay has taken first', async () => {
    await makeDeadLetters(file, many(40))
    const results = await Promise.all([replay('--all', '--yes', '--json'), replay('--all', '--yes', '--json')])
    const [one, other] = results.map(({ stdout }) => Number(readLines(stdout).at(-1)?.replayed))
    expect(results).toMatchObject([{ code: 0 }, { code: 0 }])
    expect(Number(one) + Number(other)).toBe(40)
    expect(await readCounts(file)).toMatchObject({ waiting: 40, dead: 0 })
  })
})

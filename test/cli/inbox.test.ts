import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from 'postern'
import { openSqlite, sqliteInbox } from 'postern/sqlite'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { makeTestFolder } from '../support/test-folder.ts'
import { makeDeadLetters, type Unlucky } from './make-dead-letters.ts'
import { readLines, runCli, startCli } from './run-cli.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = makeTestFolder()
  file = join(folder, 'app.db')
})

const keyOf = (id: string) => `7:default4:acme${id.length}:${id}`
const inbox = (...args: readonly string[]) => runCli(['inbox', ...args, '--sqlite', file])
const seven = Array.from({ length: 7 }, (_, index): Unlucky => ({ id: `evt_${index}` }))

async function readCounts(): Promise<unknown> {
  const [counts] = readLines((await inbox('counts', '--json')).stdout)
  return counts
}

describe('postern inbox counts', () => {
  it('counts the events of each state', async () => {
    await makeDeadLetters(file, seven)
    const { code, stdout } = await inbox('counts')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^STATE +EVENTS\nwaiting +0\nrunning +0\ndead +7\noldest due +-\n$/)
    expect(await readCounts()).toEqual({ waiting: 0, running: 0, dead: 7, oldestDueAt: null, countedTo: 10_000 })
  })

  it('tells since when the oldest event has been due', async () => {
    await makeDeadLetters(file, [{ id: 'evt_1' }])
    await inbox('replay', keyOf('evt_1'))
    expect(await readCounts()).toMatchObject({ waiting: 1, oldestDueAt: expect.stringMatching(/^\d{4}-.*Z$/) })
    expect((await inbox('counts')).stdout).toMatch(/^oldest due +\d+ m?s ago$/m)
  })
})

describe('postern inbox list', () => {
  it('shows up to 1000 events on a page, and its next page to people and to programs', async () => {
    await makeDeadLetters(file, seven)
    expect((await inbox('list', '--limit', '1000')).stdout.match(/dead_letter/g)).toHaveLength(7)
    expect(await inbox('list', '--limit', '1001')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('at most 1000'),
    })
    const { stdout, stderr } = await inbox('list', '--limit', '3')
    expect(stdout).toMatch(/^KEY (.*\n){4}$/)
    expect(stderr).toMatch(/^next page: postern inbox list --sqlite \S+ --state dead --limit 3 --after \S+\n$/)
  })

  it('lists dead letters with the cause of their death', async () => {
    await makeDeadLetters(file, [{ id: 'evt_1', error: 'no such customer' }])
    const { code, stdout, stderr } = await inbox('list')
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/^KEY +TYPE +EVENT +RECEIVED +DEAD SINCE +TRIES +CODE +ERROR\n/)
    expect(stdout).toMatch(/\n7:default4:acme5:evt_1 +contact\.created +evt_1 .* 1 +dead_letter .*no such customer\n$/)
  })

  it('goes from page to page by the line that it prints', async () => {
    await makeDeadLetters(file, seven)
    const seen: unknown[] = []
    let args: readonly string[] | undefined = ['inbox', 'list', '--sqlite', file, '--limit', '3', '--json']
    let pages = 0
    while (args !== undefined) {
      const { code, stdout, stderr } = await runCli(args)
      expect(code).toBe(0)
      const lines = readLines(stdout)
      seen.push(...lines.filter(({ type }) => type === 'item').map(({ eventId }) => eventId))
      const [, next] = /^next page: postern (.*)\n$/.exec(stderr) ?? []
      expect(lines.at(-1)?.type).toBe(next === undefined ? 'item' : 'page')
      args = next?.split(' ')
      pages++
    }
    expect([pages, seen]).toEqual([3, seven.map(({ id }) => id)])
  })

  it.each([
    ['a word', ['--after', 'evt_1']],
    ['an unknown state', ['--state', 'done']],
  ])('refuses %s, with code 2', async (_what, args) => {
    await makeDeadLetters(file, [{ id: 'evt_1' }])
    const { code, stdout, stderr } = await inbox('list', ...args)
    expect([code, stdout]).toEqual([2, ''])
    if (args.includes('--after')) expect(stderr).toMatch(/^postern: .*"next page".*\n$/)
  })

  it('reports that there is none, or no further one', async () => {
    await makeDeadLetters(file, [{ id: 'evt_1' }, { id: 'evt_2' }])
    const after = String(readLines((await inbox('list', '--limit', '1', '--json')).stdout).at(-1)?.after)
    await inbox('drop', keyOf('evt_2'), '--yes')
    expect((await inbox('list', '--after', after)).stderr).toBe(
      'the inbox has no further event that is a dead letter\n',
    )
    expect(await inbox('list', '--state', 'waiting')).toEqual({
      code: 0,
      stdout: '',
      stderr: 'the inbox has no event that waits\n',
    })
  })
})

describe('postern inbox show', () => {
  it('shows an event with its tries and the handlers that have finished, and its body only on request', async () => {
    await makeDeadLetters(file, [{ id: 'evt_1' }])
    const { code, stdout } = await inbox('show', keyOf('evt_1'))
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^key +7:default4:acme5:evt_1\nstate +dead\ntype +contact\.created\nevent +evt_1\naccount +acme\n/,
    )
    expect(stdout).toMatch(/\ntries +1\nfinished handlers +audit\n/)
    expect(stdout).toMatch(
      /\nTRY +STARTED +TOOK +CODE +WORKER +ERROR\n1 +\d{4}-\S+Z +\d+ ms +dead_letter +\S+ +.*the customer does not exist\n$/,
    )
    expect(stdout).not.toContain('"data"')
    expect((await inbox('show', keyOf('evt_1'), '--body')).stdout).toContain('\n  "id": "evt_1",\n')
    const [exact] = readLines((await inbox('show', keyOf('evt_1'), '--body', '--json')).stdout)
    expect(JSON.parse(Buffer.from(String(exact?.bodyBase64), 'base64').toString())).toMatchObject({ id: 'evt_1' })
    const [plain] = readLines((await inbox('show', keyOf('evt_1'), '--json')).stdout)
    expect(plain).toMatchObject({ state: 'dead', eventId: 'evt_1', marks: ['audit'], tries: [{ n: 1 }] })
    expect(plain).not.toHaveProperty('bodyBase64')
  })

  const EXACT =
    '{"id":"evt_1","type":"contact.created","accountKey":"acme","timestamp":"2025-01-01T00:00:00Z", "data":{"record":{"_id":"a","n":[1.50e2,12345678901234567890,{}, [ ]],"n":"b\\u202e: {"}}}'

  it('lets no text reach the terminal as a command, or reverse a line', async () => {
    const error = '\u001b[2J\u202e\nFAKE  row\u0007'
    const body = EXACT.replace('"_id":"a"', '"_id":"\u009b2J\u2067x"')
    await makeDeadLetters(file, [{ id: 'evt_1', error, body }])
    for (const args of [['list'], ['show', keyOf('evt_1'), '--body']]) {
      const { stdout } = await inbox(...args)
      expect(stdout).not.toMatch(/[^\P{Cc}\n]|\p{Bidi_Control}/u)
      expect(stdout).toMatch(/\?\[2J\?\?FAKE {2}row\?/)
    }
  })
})

describe('an inbox that is not there', () => {
  const commands = [['counts'], ['list'], ['replay', '--all', '--yes']]
  it.each(commands)('is reported in one line, and nothing is created: %s %s', async (...args) => {
    const result = await inbox(...args, '--json')
    expect(result.code).toBe(3)
    expect(result.stderr).toMatch(/^postern: \S+app\.db does not exist, or is not a file\. Give the file [^\n]*\n$/)
    expect(readLines(result.stdout)).toEqual([
      { error: { code: 'database_unusable', message: expect.stringContaining('does not exist') } },
    ])
    expect(readdirSync(folder)).toEqual([])
  })

  it.each([
    ['a folder', () => mkdirSync(file), /not a file/],
    ['a text', () => writeFileSync(file, 'hello '.repeat(1_000)), /is not a SQLite database\. Give another path\./],
    ['an empty file', () => writeFileSync(file, ''), /has no inbox with the table "postern_inbox"/],
  ])('is refused: %s', async (_what, make, message) => {
    make()
    const { code, stdout, stderr } = await inbox('counts')
    expect([code, stdout]).toEqual([3, ''])
    expect(stderr).toMatch(message)
    expect(stderr).toMatch(/^postern: [^\n]*\n$/)
    expect(readdirSync(folder)).toEqual(['app.db'])
  })

  it('leaves the database of another program as it is', async () => {
    const database = openSqlite(file)
    database.pragma('journal_mode = DELETE')
    database.exec('CREATE TABLE postern_inbox (state, position, title)')
    database.exec('CREATE INDEX postern_inbox_order ON postern_inbox (state, position)')
    database.close()
    const before = readFileSync(file)
    for (const args of [['counts'], ['replay', '--all', '--yes']])
      expect(await inbox(...args)).toMatchObject({ code: 3, stderr: expect.stringContaining('has no inbox') })
    expect(readFileSync(file)).toEqual(before)
    expect(readdirSync(folder)).toEqual(['app.db'])
  })

  it('is searched under its table, and the other one is named', async () => {
    await makeDeadLetters(file, [{ id: 'evt_1' }], 'crm_inbox')
    const { code, stderr } = await inbox('counts')
    expect(code).toBe(3)
    expect(stderr).toMatch(/It has one with the table crm_inbox: add --table crm_inbox\.\n$/)
    expect((await inbox('counts', '--table', 'crm_inbox', '--json')).stdout).toContain('"dead":1')
    for (const table of ["x'; DROP TABLE crm_inbox; --", '%', 'crm_inbox_order'])
      expect((await inbox('counts', '--table', table)).code).toBe(3)
  })
})

describe('postern inbox drop', () => {
  it('asks, deletes the named events, and reports that there is no such event', async () => {
    await makeDeadLetters(file, [{ id: 'evt_1' }])
    const line = ['inbox', 'drop', keyOf('evt_1'), '--sqlite', file]
    const asked = startCli(line)
    await asked.until(/contact\.created evt_1 \(dead\) would be deleted.* \[y\/N\]/)
    asked.press('n')
    expect(await asked.exitCode).toBe(1)
    expect(await runCli(line, { hasKeys: false })).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') })
    expect(await readCounts()).toMatchObject({ dead: 1 })
    const { code, stdout } = await inbox('drop', keyOf('evt_1'), '--yes', '--json')
    expect([code, ...readLines(stdout)]).toEqual([0, { key: keyOf('evt_1'), isDropped: true }])
    await makeDeadLetters(file, [{ id: 'evt_2' }])
    expect(await inbox('drop', keyOf('evt_2'), '--yes')).toEqual({
      ...{ code: 0, stdout: '', stderr: 'contact.created evt_2 is deleted\n' },
    })
    const again = await inbox('drop', keyOf('evt_1'), '--yes')
    expect(again).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/has no event of the key .* postern inbox list/),
    })
  })

  it('leaves running events alone', async () => {
    await makeDeadLetters(file, [{ id: 'evt_1' }])
    await inbox('replay', keyOf('evt_1'))
    const release = await hold()
    for (const command of ['drop', 'replay'])
      expect(await inbox(command, keyOf('evt_1'), '--yes')).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('is running'),
      })
    expect((await inbox('drop', keyOf('evt_1'))).stderr).toMatch(
      /^[^[]*Run the command again when its try has ended\.\n$/,
    )
    await release()
  })

  /** Runs the waiting items, and does not finish them. */
  async function hold(): Promise<() => Promise<unknown>> {
    const database = openSqlite(file)
    const gate = new EventTarget()
    const begun = once(gate, 'begun')
    const run = async () => {
      const released = once(gate, 'release')
      gate.dispatchEvent(new Event('begun'))
      await released
      return { next: 'remove' } as const
    }
    const told = { onError: () => {}, onSettled: () => {} }
    const loop = sqliteInbox({ database }).work(run, { concurrency: 1, leaseMs: 5_000, clock: systemClock, ...told })
    onTestFinished(() => database.close())
    await begun
    return () => {
      gate.dispatchEvent(new Event('release'))
      return loop.close(5_000)
    }
  }
})

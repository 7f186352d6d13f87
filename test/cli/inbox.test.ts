import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sealedInbox, systemClock } from 'postern'
import { openSqlite, sqliteInbox } from 'postern/sqlite'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { Gate } from '../support/gate.ts'
import { makeTestFolder } from '../support/test-folder.ts'
import { keyOf, many, readCounts } from './inbox-file.ts'
import { buryAll, makeDeadLetters } from './make-dead-letters.ts'
import { ended, readLines, runCli, startCli } from './run-cli.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = makeTestFolder()
  file = join(folder, 'app.db')
})

const inbox = (...args: readonly string[]) => runCli(['inbox', ...args, '--sqlite', file])
const seven = many(7)

describe('postern inbox counts', () => {
  it('tells since when the oldest event has been due', async () => {
    await makeDeadLetters(file, [{ id: 'evt_1' }])
    await inbox('replay', keyOf('evt_1'))
    expect(await readCounts(file)).toMatchObject({ waiting: 1, oldestDueAt: expect.stringMatching(/^\d{4}-.*Z$/) })
    expect((await inbox('counts')).stdout).toMatch(/^oldest due +\d+ m?s ago$/m)
  })
})

describe('postern inbox list', () => {
  it('shows up to 1000 events on a page', async () => {
    await makeDeadLetters(file, seven)
    expect((await inbox('list', '--limit', '1000')).stdout.match(/dead_letter/g)).toHaveLength(7)
    expect(await inbox('list', '--limit', '1001')).toEqual(ended(2, 'at most 1000'))
    const { stdout } = await inbox('list', '--limit', '3')
    expect(stdout).toMatch(/^KEY .* DEAD SINCE .*\n(7:default4:acme5:evt_\d .* dead_letter .*\n){3}$/)
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
      const [, next] = /^next page: npx postern (.*)\n$/.exec(stderr) ?? []
      expect(lines.at(-1)?.type).toBe(next === undefined ? 'item' : 'page')
      args = next?.split(' ')
      pages++
    }
    expect([pages, seen]).toEqual([3, seven.map(({ id }) => id)])
  })

  it('refuses a place that is none, and an unknown state', async () => {
    await makeDeadLetters(file, [{ id: 'evt_1' }])
    expect(await inbox('list', '--after', 'evt_1')).toEqual(ended(2, /^postern: .*after is "evt_1".*\n$/))
    expect(await inbox('list', '--state', 'done')).toEqual(ended(2))
  })

  it('reports that there is none, or no further one', async () => {
    await makeDeadLetters(file, [{ id: 'evt_1' }, { id: 'evt_2' }])
    const after = String(readLines((await inbox('list', '--limit', '1', '--json')).stdout).at(-1)?.after)
    await inbox('drop', keyOf('evt_2'), '--yes')
    const none = 'the inbox has no further event that is a dead letter\n'
    expect(await inbox('list', '--after', after)).toEqual(ended(0, none))
    expect(await inbox('list', '--state', 'waiting')).toEqual(ended(0, 'the inbox has no event that waits\n'))
  })
})

describe('postern inbox show', () => {
  it('shows an event with its tries and the handlers that have finished, and its body only on request', async () => {
    await makeDeadLetters(file, [{ id: 'evt_1' }])
    const { code, stdout } = await inbox('show', keyOf('evt_1'))
    expect(code).toBe(0)
    expect(stdout).toMatch(/^key +7:default4:acme5:evt_1\nstate +dead\n[\s\S]*\ntries +1\nfinished handlers +audit\n/)
    expect(stdout).toMatch(/\n1 +\d{4}-\S+Z +\d+ ms +dead_letter +\S+ +.*the customer does not exist\n$/)
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
  it.each([['counts'], ['replay', '--all', '--yes']])(
    'is reported in one line, and not created: %s',
    async (...args) => {
      const result = await inbox(...args, '--json')
      expect(result.code).toBe(3)
      expect(result.stderr).toMatch(/^postern: \S+app\.db does not exist, or is not a file\. Give the file [^\n]*\n$/)
      expect(readLines(result.stdout)).toMatchObject([{ error: { code: 'database_unusable' } }])
      expect(readdirSync(folder)).toEqual([])
    },
  )

  it.each([
    ['a folder', () => mkdirSync(file), /not a file/],
    ['a text', () => writeFileSync(file, 'hello '.repeat(1_000)), /is not a SQLite database\. Give another path\./],
    ['an empty file', () => writeFileSync(file, ''), /has no inbox with the table "postern_inbox"/],
  ])('is refused: %s', async (_what, make, message) => {
    make()
    const refused = await inbox('counts')
    expect(refused).toEqual(ended(3, message))
    expect(refused.stderr).toMatch(/^postern: [^\n]*\n$/)
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
      expect(await inbox(...args)).toEqual(ended(3, 'has no inbox'))
    expect(readFileSync(file)).toEqual(before)
    expect(readdirSync(folder)).toEqual(['app.db'])
  })

  it('is searched under its table, and the other one is named', async () => {
    await makeDeadLetters(file, [{ id: 'evt_1' }], 'crm_inbox')
    const advice = 'It has one with the table crm_inbox: add --table crm_inbox.\n'
    expect(await inbox('counts')).toEqual(ended(3, advice))
    expect((await inbox('counts', '--table', 'crm_inbox', '--json')).stdout).toContain('"dead":1')
    for (const table of ["x'; DROP TABLE crm_inbox; --", '%', 'crm_inbox_order'])
      expect((await inbox('counts', '--table', table)).code).toBe(3)
  })
})

describe('an inbox that is sealed', () => {
  it('is shown with the keys in INBOX_KEYS, and otherwise without bodies and errors', async () => {
    const keys = `2026-11:${randomBytes(32).toString('base64')}`
    const database = openSqlite(file)
    await buryAll({ inbox: sealedInbox(sqliteInbox({ database }), { keys }) }, [{ id: 'evt_1', error: 'no zoe' }])
    database.close()
    const show = ['inbox', 'show', keyOf('evt_1'), '--body', '--sqlite', file]
    const open = await runCli(show, { env: { INBOX_KEYS: keys } })
    expect(open).toMatchObject({ code: 0, stdout: expect.stringMatching(/no zoe.*"id": "evt_1"/s), stderr: '' })
    const shut = await runCli(show)
    expect(shut.stdout).toMatch(/\(sealed\)/)
    expect(shut.stdout).not.toMatch(/zoe|"id"/)
    expect(shut.stderr).toBe('its body is sealed: INBOX_KEYS does not have the key "2026-11"\n')
    expect(await runCli(show, { env: { INBOX_KEYS: keys.slice(0, 20) } })).toEqual(ended(2, 'openssl rand'))
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
    expect(await runCli(line, { hasKeys: false })).toEqual(ended(2, '--yes'))
    expect(await readCounts(file)).toMatchObject({ dead: 1 })
    const { code, stdout } = await inbox('drop', keyOf('evt_1'), '--yes', '--json')
    expect([code, ...readLines(stdout)]).toEqual([0, { key: keyOf('evt_1'), isDropped: true }])
    await makeDeadLetters(file, [{ id: 'evt_2' }])
    expect(await inbox('drop', keyOf('evt_2'), '--yes')).toEqual(ended(0, 'contact.created evt_2 is deleted\n'))
    const again = await inbox('drop', keyOf('evt_1'), '--yes')
    expect(again).toEqual(ended(1, /has no event of the key .* handled or dropped.* npx postern inbox list/))
    for (const command of ['show', 'replay', 'drop'])
      expect(await inbox(command, 'evt_1')).toEqual(ended(1, /of the key evt_1: a key, such as .* column KEY .* list/))
  })

  it('deletes all of an account, counted and asked for, and nothing of another', async () => {
    await makeDeadLetters(file, [...many(3), { id: 'evt_other', type: 'contact.deleted' }])
    const all = ['--all', '--account', 'acme']
    for (const args of [[], ['--all'], ['--account', 'acme'], [keyOf('evt_0'), ...all], [keyOf('evt_0'), '--dry-run']])
      expect((await inbox('drop', ...args)).code).toBe(2)
    expect(await inbox('drop', ...all, '--dry-run')).toEqual(
      ended(0, '4 events of the account acme would be deleted\n'),
    )
    expect(await inbox('drop', '--all', '--account', 'other', '--yes')).toEqual(
      ended(0, '0 events of the account other deleted\n'),
    )
    const { stderr } = await inbox('drop', '--all', '--account', 'Acme', '--dry-run')
    expect(stderr).toContain('the inbox has no event of the account Acme; it has those of acme\n')
    const ofType = await inbox('drop', ...all, '--type', 'import.*', '--dry-run')
    expect(ofType.stderr).toContain('nothing of the account acme matches --type import.*')
    const line = ['inbox', 'drop', ...all, '--type', '*.created', '--sqlite', file]
    expect(await runCli(line, { hasKeys: false })).toEqual(ended(2, '--yes'))
    const asked = startCli(line)
    await asked.until(/3 events of the account acme would be deleted, and never handled\. \[y\/N\]/)
    asked.press('y')
    expect(await asked.exitCode).toBe(0)
    const { stdout } = await inbox('drop', ...all, '--yes', '--json')
    expect(readLines(stdout)).toEqual([{ accountKey: 'acme', found: 1, dropped: 1, running: 0, isDryRun: false }])
    expect(await readCounts(file)).toMatchObject({ waiting: 0, dead: 0 })
  })

  it('leaves running events alone', async () => {
    await makeDeadLetters(file, [{ id: 'evt_1' }])
    await inbox('replay', keyOf('evt_1'))
    const release = await hold()
    for (const command of ['drop', 'replay'])
      expect(await inbox(command, keyOf('evt_1'), '--yes')).toEqual(ended(1, 'is running'))
    expect(await inbox('drop', '--all', '--account', 'acme', '--yes')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('1 event of the account acme is running, and not deleted.'),
    })
    const unasked = /^[^[]*Run the command again when its try has ended\.\n$/
    expect(await inbox('drop', keyOf('evt_1'))).toEqual(ended(1, unasked))
    await release()
  })

  /** Runs the waiting items, and does not finish them. */
  async function hold(): Promise<() => Promise<unknown>> {
    const database = openSqlite(file)
    const [begun, released] = [new Gate(), new Gate()]
    const run = async () => {
      begun.open()
      await released.promise
      return { next: 'remove' } as const
    }
    const told = { onError: () => {}, onSettled: () => {} }
    const loop = sqliteInbox({ database }).work(run, { concurrency: 1, leaseMs: 5_000, clock: systemClock, ...told })
    onTestFinished(() => database.close())
    await begun.promise
    return () => {
      released.open()
      return loop.close(5_000)
    }
  }
})

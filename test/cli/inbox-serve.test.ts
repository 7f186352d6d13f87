import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { openSqlite } from 'postern/sqlite'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { LateInbox } from '../../src/cli/service/late-inbox.ts'
import { redisProgram, startRedis } from '../engines/redis-server.ts'
import { makeDeadLetters } from './make-dead-letters.ts'
import { type RunningCli, readLines, runCli, startCli } from './run-cli.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'postern-serve-'))
  file = join(folder, 'app.db')
  const made = folder
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
})

function start(args: readonly string[], env = {}): RunningCli {
  const cli = startCli(['inbox', 'serve', '--port', '0', ...args], { env })
  onTestFinished(async () => {
    cli.interrupt()
    await cli.exitCode
  })
  return cli
}

describe('postern inbox serve', () => {
  it('prints an address with a new token at each start, and ends at q', async () => {
    await makeDeadLetters(file, [{ id: 'evt_1' }])
    const [one, other] = [start(['--sqlite', file]), start(['--sqlite', file, '--write', '--json'])]
    await one.until(/^page +http.*\nkeys +o open it in the browser, q quit\n/m)
    await other.until(/"ready"/)
    expect(one.stderr).toMatch(/^inbox +sqlite .*app\.db\nrights +read-only: --write lets people replay and drop\n/)
    const address = /http:\/\/127\.0\.0\.1:\d+\/_inspector\?token=[\w-]{32}$/m
    const [ready] = readLines(other.stdout)
    expect(ready).toEqual({ type: 'ready', url: expect.stringMatching(address), isWritable: true })
    expect(one.stderr).toMatch(address)
    expect(one.stderr).not.toContain(new URL(String(ready?.url)).searchParams.get('token'))
    one.press('q')
    expect(await one.exitCode).toBe(0)
    other.interrupt()
    expect(await other.exitCode).toBe(130)
  })

  it('ends immediately if there is no inbox, no free port, or a token that can be guessed', async () => {
    const absent = await runCli(['inbox', 'serve', '--sqlite', file], { env: {} })
    expect([absent.code, absent.stderr]).toEqual([
      3,
      expect.stringContaining('app.db does not exist, or is not a file.'),
    ])
    await makeDeadLetters(file, [{ id: 'evt_1' }])
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    onTestFinished(() => void taken.close())
    const port = String(Object(taken.address()).port)
    const busy = await runCli(['inbox', 'serve', '--sqlite', file, '--port', port], { env: {} })
    expect([busy.code, busy.stderr]).toEqual([
      3,
      expect.stringMatching(
        /^postern: The inbox's page cannot listen on 127\.0\.0\.1:\d+: .*EADDRINUSE.* Give another port\./,
      ),
    ])
    const short = await runCli(['inbox', 'serve', '--sqlite', file], { env: { POSTERN_INBOX_TOKEN: 'secret' } })
    expect([short.code, short.stderr]).toEqual([2, expect.stringContaining('Give at least 16 characters')])
  })

  it('accepts a custom token', async () => {
    await makeDeadLetters(file, [{ id: 'evt_1' }])
    const cli = start(['--sqlite', file], { POSTERN_INBOX_TOKEN: 'a token & of one’s own' })
    await cli.until(/^page/m)
    const url = /http:\/\/\S+/.exec(cli.stderr)?.[0] ?? ''
    expect((await fetch(url, { redirect: 'manual' })).status).toBe(303)
    expect(new URL(url).searchParams.get('token')).toBe('a token & of one’s own')
  })
})

describe('an inbox that may come later', () => {
  const counts = (inbox: LateInbox) => inbox.counts().then(({ dead }) => dead)

  it('is found once its file exists, and again when the file was replaced', async () => {
    await using inbox = new LateInbox({ sqlite: file })
    await expect(inbox.counts()).rejects.toThrow('does not exist, or is not a file')
    await makeDeadLetters(file, [{ id: 'evt_1' }])
    expect(await counts(inbox)).toBe(1)
    for (const ending of ['', '-wal', '-shm']) rmSync(file + ending, { force: true })
    await makeDeadLetters(file, [{ id: 'evt_1' }, { id: 'evt_2' }])
    expect(await counts(inbox)).toBe(2)
    for (const ending of ['', '-wal', '-shm']) rmSync(file + ending, { force: true })
    writeFileSync(file, 'no database')
    await expect(inbox.counts()).rejects.toThrow('cannot be read')
  })

  it('does not block its process while another one has the file locked', async () => {
    const holder = openSqlite(file)
    holder.pragma('locking_mode = EXCLUSIVE')
    holder.exec('BEGIN EXCLUSIVE; CREATE TABLE t (a)')
    await using inbox = new LateInbox({ sqlite: file })
    const started = performance.now()
    await expect(inbox.counts()).rejects.toThrow('another process has it locked')
    expect(performance.now() - started).toBeLessThan(1_000)
    holder.close()
  })

  it.skipIf(redisProgram === undefined)('comes back with its Redis', { timeout: 30_000 }, async () => {
    const server = await startRedis()
    onTestFinished(() => server.remove())
    await using inbox = new LateInbox({ redis: server.url })
    expect(await counts(inbox)).toBe(0)
    await server.kill('SIGKILL')
    await expect(inbox.counts()).rejects.toThrow()
    await server.start()
    await expect.poll(() => counts(inbox).catch(() => 'away'), { timeout: 15_000 }).toBe(0)
  })
})

describe.skipIf(redisProgram === undefined)('a connection to Redis', () => {
  it('stays if a question was wrong', async () => {
    const server = await startRedis()
    onTestFinished(() => server.remove())
    const observer = new Redis(server.url)
    onTestFinished(() => void observer.disconnect())
    await using inbox = new LateInbox({ redis: server.url })
    await inbox.counts()
    const madeOf = async () => /total_connections_received:\d+/.exec(await observer.info('stats'))?.[0]
    const before = await madeOf()
    await expect(inbox.list('dead', { after: 'nowhere' })).rejects.toThrow('after is "nowhere"')
    await inbox.counts()
    expect(await madeOf()).toBe(before)
  })
})

describe('--inbox', () => {
  it('prints at the start of postern dev whether the inbox is there, or not yet', async () => {
    const dev = async () => {
      const cli = startCli(['dev', '--port', '0', '--forward', 'http://localhost:9/', '--inbox', `sqlite:${file}`], {
        env: {},
      })
      await cli.until(/^inspector/m)
      cli.interrupt()
      await cli.exitCode
      return cli.stderr
    }
    expect(await dev()).toMatch(/^inbox +sqlite .*app\.db {3}not there yet: .*app\.db does not exist/m)
    await makeDeadLetters(file, [{ id: 'evt_1' }])
    expect(await dev()).toMatch(/^inbox +sqlite .*app\.db {3}0 waiting, 0 running, 1 dead$/m)
  })
})

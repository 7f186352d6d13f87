import { once } from 'node:events'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { makeTestFolder } from '../support/test-folder.ts'
import { makeDeadLetters } from './make-dead-letters.ts'
import { type RunningCli, readLines, runCli, startCli } from './run-cli.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = makeTestFolder()
  file = join(folder, 'app.db')
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

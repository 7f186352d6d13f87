import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { sealedInbox } from 'postern'
import { openSqlite, sqliteInbox } from 'postern/sqlite'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { makeTestFolder } from '../support/test-folder.ts'
import { buryAll, makeDeadLetters } from './make-dead-letters.ts'
import { ended, type RunningCli, readLines, runCli, startCli } from './run-cli.ts'

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

const readUrl = ({ stderr }: RunningCli) => /http:\/\/\S+/.exec(stderr)?.[0] ?? ''

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
    const serve = `inbox serve --sqlite ${file}`
    expect(await runCli(serve, { env: {} })).toEqual(ended(3, 'app.db does not exist, or is not a file.'))
    await makeDeadLetters(file, [{ id: 'evt_1' }])
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    onTestFinished(() => void taken.close())
    const busy = await runCli(`${serve} --port ${Object(taken.address()).port}`, { env: {} })
    const advice = /^postern: The inbox's page cannot listen on 127\.0\.0\.1:\d+: .*EADDRINUSE.* Give another port\./
    expect(busy).toEqual(ended(3, advice))
    const short = await runCli(serve, { env: { POSTERN_INBOX_TOKEN: 'secret' } })
    expect(short).toEqual(ended(2, 'Give at least 16 characters'))
  })

  it('accepts a custom token', async () => {
    await makeDeadLetters(file, [{ id: 'evt_1' }])
    const cli = start(['--sqlite', file], { POSTERN_INBOX_TOKEN: 'a token & of one’s own' })
    await cli.until(/^page/m)
    const url = readUrl(cli)
    expect((await fetch(url, { redirect: 'manual' })).status).toBe(303)
    expect(new URL(url).searchParams.get('token')).toBe('a token & of one’s own')
    const shortest = start(['--sqlite', file], { POSTERN_INBOX_TOKEN: '0123456789abcdef' })
    await shortest.until(/^page.*token=0123456789abcdef$/m)
  })

  it('opens sealed bodies with the keys in INBOX_KEYS, and says which key is missing', async () => {
    const keys = `2026-11:${randomBytes(32).toString('base64')}`
    const database = openSqlite(file)
    await buryAll({ inbox: sealedInbox(sqliteInbox({ database }), { keys }) }, [{ id: 'evt_1' }])
    database.close()
    const read = async (env: object) => {
      const cli = start(['--sqlite', file], env)
      await cli.until(/^page/m)
      const session = await fetch(readUrl(cli), { redirect: 'manual' })
      const url = new URL('/_inspector/inbox/body?key=7:default4:acme5:evt_1', readUrl(cli))
      return (await fetch(url, { headers: { cookie: session.headers.get('set-cookie') ?? '' } })).text()
    }
    expect(await read({ INBOX_KEYS: keys })).toContain('evt_1')
    const refusal = await read({})
    expect(refusal).toContain('the body is sealed')
    expect(refusal).toContain('2026-11')
  })

  it('lets its page replay and drop only with --write, and then prints each action', async () => {
    await makeDeadLetters(file, [{ id: 'evt_1' }])
    const key = '7:default4:acme5:evt_1'
    const [reading, writing] = [start(['--sqlite', file, '--json']), start(['--sqlite', file, '--write'])]
    await reading.until(/"ready"/)
    await writing.until(/^page/m)
    expect(readLines(reading.stdout)).toMatchObject([{ isWritable: false }])
    expect(writing.stderr).toContain('\nrights     whoever has the address can replay and drop\n')
    const drop = async (url: string) => {
      const { headers } = await fetch(url, { redirect: 'manual' })
      return fetch(new URL('/_inspector/inbox/drop', url), {
        method: 'POST',
        headers: { cookie: headers.get('set-cookie') ?? '', 'content-type': 'application/json' },
        body: JSON.stringify({ key }),
      })
    }
    expect((await drop(String(readLines(reading.stdout)[0]?.url))).status).toBe(403)
    expect(await (await drop(readUrl(writing))).json()).toEqual({ isDone: true })
    expect(reading.stderr).toBe('')
    expect(writing.stderr).toMatch(new RegExp(`\\n\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z  drop  ${key}\\n$`))
  })

  it('opens the page in the browser at o, and at no other key', async () => {
    await makeDeadLetters(file, [{ id: 'evt_1' }])
    const cli = start(['--sqlite', file], { BROWSER: join(folder, 'nothing') })
    await cli.until(/^keys/m)
    cli.press('x')
    cli.press('o')
    await cli.until(/^no browser could be started/m)
    const failure = `no browser could be started; open ${readUrl(cli)}`
    expect(cli.stderr.match(/^no browser could be started; open .*/gm)).toEqual([failure])
  })
})

import { execFileSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { beforeEach, describe, expect, it } from 'vitest'
import { parseEnvFile, readEnvFile, writeEnvFile } from '../../tools/cli/input/env-file.ts'
import { makeTestFolder } from '../support/test-folder.ts'
import { runCli } from './run-cli.ts'
import { APP, serve } from './serve.ts'

let file: string
beforeEach(() => {
  file = join(makeTestFolder(), '.env')
})
const read = () => readFile(file, 'utf8')

describe('writeEnvFile', () => {
  it.each([
    ['the last of several lines', 'S=old\nB=1\nS=\n', 'S=old\nB=1\nS=new\n'],
    ['the last of several empty lines', 'S=\nB=1\nS=\n', 'S=\nB=1\nS=new\n'],
    ['no line within the value of another variable', 'A="one\nS=\ntwo"\n', 'A="one\nS=\ntwo"\nS=new\n'],
    ['no line whose value only begins empty', "S=''\nT=''x\n", "S=new\nT=''x\n"],
    ['an exported line, which stays exported', 'export S=""\nB=1\n', 'export S=new\nB=1\n'],
    ['a line with a comment, which stays', 'S=   # by ops\nB=1\n', 'S=new # by ops\nB=1\n'],
    ['a line of Windows', 'S=\r\nB=1\r\n', 'S=new\r\nB=1\r\n'],
    ['a line behind a byte order mark', '\ufeffS=\nB=1\n', '\ufeffS=\nB=1\nS=new\n'],
    ['no commented line', '# S=\nB=1', '# S=\nB=1\nS=new\n'],
  ])('fills %s', async (_what, before, after) => {
    await writeFile(file, before)
    await writeEnvFile(file, { S: 'new' })
    expect(await read()).toBe(after)
    expect(parseEnv(after).S).toBe('new')
  })

  it.each(['new', '', "it's 1", 'say "x" 2', '`a` b', 'a#b', 'a=b', ' c '])(
    'reads back %j unchanged',
    async (value) => {
      await writeEnvFile(file, { S: value, T: 'x' })
      expect(parseEnv(await read())).toEqual({ S: value, T: 'x' })
      expect(await read()).toMatch(/^S=.*\nT=x\n$/)
    },
  )

  it('leaves bytes alone that are not UTF-8', async () => {
    const before = Buffer.from('A=gr\u00fcn\n# Stra\u00dfe\nS=\n', 'latin1')
    await writeFile(file, before)
    await writeEnvFile(file, { S: 'n\u00e9w' })
    expect(await readFile(file)).toEqual(Buffer.concat([before.subarray(0, -1), Buffer.from("'n\u00e9w'\n")]))
  })

  it('writes nothing if an open quote would include the value, or another variable would change', async () => {
    await writeFile(file, 'A="one\n')
    await writeEnvFile(file, { S: 'new' })
    expect(parseEnv(await read())).toEqual({ A: '"one', S: 'new' })
    await writeFile(file, 'A="one\n')
    await expect(writeEnvFile(file, { S: `a"b'c d` })).rejects.toMatchObject({ exitCode: 2 })
    expect(await read()).toBe('A="one\n')
    const message = `${file} has no place for S: a quote in it is probably not closed.`
    await expect(writeEnvFile(file, { S: 'x "y' })).rejects.toMatchObject({ exitCode: 2, message })
    expect(await read()).toBe('A="one\n')
  })

  it('refuses what no line can hold', async () => {
    for (const value of ['a\nb', `a"b'c\`d`])
      await expect(writeEnvFile(file, { S: value })).rejects.toThrow('S has characters that an env file cannot hold.')
    await expect(readFile(file)).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it('names a file that cannot be written or read', async () => {
    const unwritten = { exitCode: 2, message: expect.stringContaining(`${file}/none/.env cannot be written: ENOENT`) }
    await expect(writeEnvFile(`${file}/none/.env`, { S: 'x' })).rejects.toMatchObject(unwritten)
    const unread = { exitCode: 2, message: expect.stringContaining('/.. cannot be read: EISDIR') }
    await expect(readEnvFile(`${join(file, '..')}/..`, 'S')).rejects.toMatchObject(unread)
  })
})

describe('readEnvFile', () => {
  it('returns undefined for what is empty, not set or not there', async () => {
    expect(await readEnvFile(file, 'S')).toBeUndefined()
    await writeFile(file, 'A=\nB=2\n')
    expect(await readEnvFile(file, 'A')).toBeUndefined()
    expect(await readEnvFile(file, 'S')).toBeUndefined()
    expect(await readEnvFile(file, 'B')).toBe('2')
  })

  it('leaves a byte order mark within a value alone', () => {
    expect(parseEnvFile(Buffer.from('\ufeffA=x\ufeffy\n'), file)).toEqual({ A: 'x\ufeffy' })
  })
})

describe('an env file', () => {
  it('in UTF-16 is refused before anything is registered', async () => {
    const { crm, run } = await serve()
    const before = Buffer.from('\ufeffWEBHOOK_SECRET=\r\n', 'utf16le')
    await writeFile(file, before)
    const { code, stderr } = await run('webhooks', 'ensure', '--url', APP, '--events', 'sync.failed', '--to-env', file)
    expect([code, stderr]).toEqual([2, `postern: ${file} is not UTF-8 text. Save it as UTF-8.\n`])
    expect(crm.webhooks.list()).toEqual([])
    expect(await readFile(file)).toEqual(before)
  })

  it('is read once, so that it may be a pipe', async () => {
    const { env, run } = await serve()
    execFileSync('mkfifo', [file])
    const text = Object.entries(env).map(([name, value]) => `${name}=${value}\n`)
    const [list] = await Promise.all([run('webhooks', 'list', '--env', file), writeFile(file, text)])
    expect(list.code, list.stderr).toBe(0)
  })

  it.each([
    ['webhooks', 'list'],
    ['trigger', 'contact.created'],
  ])('is not repeated by postern %s if a line of it is wrong', async (...command) => {
    const line = 'POSTERN_BASE_URL=http://127.0.0.1:1 POSTERN_EMAIL=ada@acme.test POSTERN_PASSWORD=hunter2\n'
    for (const text of [line, 'POSTERN_BASE_URL=htps://ada:hunter2@crm.example.test\n']) {
      await writeFile(file, text)
      const { code, stdout, stderr } = await runCli([...command, '--env', file, '--json'], { env: {} })
      expect(code).toBe(2)
      expect(stderr).toMatch(/^postern: POSTERN_BASE_URL is not a URL/)
      expect(stdout + stderr).not.toContain('hunter2')
    }
  })

  it('may begin with a byte order mark', async () => {
    const { crm, env, run } = await serve()
    const lines = Object.entries({ ...env, WEBHOOK_SECRET: 'x' }).map(([name, value]) => `${name}=${value}\n`)
    for (const text of [lines.join(''), lines.reverse().join('')]) {
      await writeFile(file, `\ufeff${text}`)
      const { code, stderr } = await run('webhooks', 'list', '--env', file)
      expect(code, stderr).toBe(0)
      expect((await run('sign', '--env', file)).code).toBe(0)
    }
    expect(crm.webhooks.list()).toEqual([])
  })
})

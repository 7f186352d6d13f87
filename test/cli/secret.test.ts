import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { readStdin } from '../../tools/cli/input/read-bytes.ts'
import { readSecret, readVariableName, type SecretOptions } from '../../tools/cli/input/secret.ts'
import { makeTestFolder } from '../support/test-folder.ts'
import { createTestIo, type IoSetting } from './test-io.ts'

let file: string
beforeEach(() => {
  file = join(makeTestFolder(), 'file')
})
const read = (options: Partial<SecretOptions>, setting: IoSetting = {}) =>
  readSecret({ secretEnv: 'HOOK', ...options }, createTestIo(setting).io)

describe('a secret', () => {
  it.each([
    ['whsec_1', 'whsec_1'],
    ['whsec_1\n', 'whsec_1'],
    ['whsec_1\r\n', 'whsec_1'],
    ['whsec_1\n\n', 'whsec_1\n'],
    ['one\nother\n', 'one\nother'],
    [' whsec_1 \n', ' whsec_1 '],
  ])('is all of a file or of standard input but its final line break: %j', async (text, secret) => {
    await writeFile(file, text)
    expect(await read({ secretFile: file })).toBe(secret)
    expect(await read({ secretStdin: true }, { stdin: text })).toBe(secret)
  })

  it.each(['', '\r\n', '\ufeff'])('is missed in an empty file, and on empty standard input: %j', async (text) => {
    await writeFile(file, text)
    await expect(read({ secretFile: file })).rejects.toThrow(`${file} is empty: it holds no secret.`)
    await expect(read({ secretStdin: true }, { stdin: text })).rejects.toThrow('Standard input is empty')
  })

  it('is not looked for in both a file and standard input', async () => {
    const message = 'Give --secret-file or --secret-stdin, not both.'
    await expect(read({ secretFile: file, secretStdin: true })).rejects.toMatchObject({ exitCode: 2, message })
    const other = 'Give --secret-file or --env, not both.'
    await expect(read({ secretFile: file, env: file })).rejects.toMatchObject({ exitCode: 2, message: other })
  })

  it('is that of the env file in place of the environment', async () => {
    await writeFile(file, 'HOOK=whsec_1\n')
    const env = { HOOK: 'other', MINE: 'other' }
    expect(await read({ env: file }, { env })).toBe('whsec_1')
    const message = `There is no secret: MINE is not set in ${file}. Set it`
    await expect(read({ env: file, secretEnv: 'MINE' }, { env })).rejects.toThrow(message)
    const missing = `${file}.local cannot be read: ENOENT`
    await expect(read({ env: `${file}.local` }, { env })).rejects.toThrow(missing)
  })

  it.each([{}, { HOOK: '' }])('is missed by the name of its variable: %j', async (env) => {
    await expect(read({}, { env })).rejects.toThrow(/^There is no secret: HOOK is not set\. Set it/)
  })
})

describe('the name of a variable', () => {
  it.each(['HOOK', '_hook', 'h', 'HOOK_2'])('is taken: %s', (name) => {
    expect(readVariableName(name)).toBe(name)
  })

  it.each(['whsec-1', '1HOOK', 'HOOK=x', '$HOOK', ' HOOK', ''])('is not repeated if it may be a secret: %j', (text) => {
    const refusal = 'An option takes the name of a variable, but got something else, such as the secret.'
    expect(() => readVariableName(text)).toThrow(refusal)
  })
})

describe('standard input', () => {
  it('is announced at a terminal', async () => {
    const { io, written } = createTestIo()
    await readStdin({ ...io, stdin: Object.assign(io.stdin, { isTTY: true }) })
    expect(written.stderr).toBe('reading standard input, to its end (Ctrl-D)\n')
  })

  it('is left at Ctrl-C', async () => {
    const { io, interrupt } = createTestIo()
    async function* wait() {
      yield await new Promise<never>(() => {})
    }
    const reading = readStdin({ ...io, stdin: wait() })
    interrupt()
    await expect(reading).rejects.toBe(io.interrupt.reason)
    await expect(readStdin(io)).rejects.toBe(io.interrupt.reason)
  })
})

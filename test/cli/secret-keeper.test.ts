import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Webhook } from 'postern/client'
import { beforeEach, describe, expect, it } from 'vitest'
import { openKeeper } from '../../src/cli/output/secret-keeper.ts'
import { makeTestFolder } from '../support/test-folder.ts'
import { createTestIo } from './test-io.ts'

const WEBHOOK = { id: 'w1' } as Webhook // nothing else of it is kept
const NAMED = { secretEnv: 'HOOK' }

let folder: string
let file: string
beforeEach(() => {
  folder = makeTestFolder()
  file = join(folder, 'file')
})
const read = (path = file) => readFile(path, 'utf8')

describe('the keeper of a secret', () => {
  it('keeps the secret alone in a file, and the id beside it', async () => {
    const keeper = await openKeeper({ ...NAMED, secretFile: file }, createTestIo().io)
    expect([keeper.name, await keeper.hasSecret('w1')]).toEqual([file, false])
    await keeper.saveSecret('whsec_1', WEBHOOK)
    expect([await read(), await read(`${file}.webhook`)]).toEqual(['whsec_1\n', 'w1\n'])
    expect([await keeper.hasSecret('w1'), await keeper.hasSecret('w2')]).toEqual([true, false])
    await keeper[Symbol.asyncDispose]()
    expect(await readdir(folder)).toEqual(['file', 'file.webhook'])
  })

  it('keeps both in an env file', async () => {
    const keeper = await openKeeper({ ...NAMED, toEnv: file }, createTestIo().io)
    expect([keeper.name, await keeper.hasSecret('w1')]).toEqual([`HOOK in ${file}`, false])
    await keeper.saveSecret('whsec_1', WEBHOOK)
    expect(await read()).toBe('HOOK_WEBHOOK_ID=w1\nHOOK=whsec_1\n')
    expect([await keeper.hasSecret('w1'), await keeper.hasSecret('w2')]).toEqual([true, false])
    await keeper[Symbol.asyncDispose]()
    expect(await readdir(folder)).toEqual(['file'])
  })

  it('finds an id without its secret of no use', async () => {
    await writeFile(`${file}.webhook`, 'w1\n')
    const keeper = await openKeeper({ ...NAMED, secretFile: file }, createTestIo().io)
    expect(await keeper.hasSecret('w1')).toBe(false)
    await keeper[Symbol.asyncDispose]()
  })

  it('opens again what it has filled, and does not overwrite it', async () => {
    await writeFile(file, 'whsec_1\n')
    await writeFile(`${file}.webhook`, 'w1\n')
    const keeper = await openKeeper({ ...NAMED, secretFile: file }, createTestIo().io)
    expect(await keeper.hasSecret('w1')).toBe(true)
    await expect(keeper.saveSecret('whsec_2', WEBHOOK)).rejects.toThrow('it holds the secret of another webhook')
    expect(await read()).toBe('whsec_1\n')
  })

  it.each(['secretFile', 'toEnv'])('refuses a secret of which no webhook is known: %s', async (option) => {
    await writeFile(file, 'HOOK=whsec_1\n')
    const name = option === 'toEnv' ? `HOOK in ${file}` : file
    await expect(openKeeper({ ...NAMED, [option]: file }, createTestIo().io)).rejects.toMatchObject({
      ...{ exitCode: 2, message: `${name} holds a secret already, and is not overwritten. Name another place.` },
    })
    expect(await readdir(folder)).toEqual(['file'])
  })

  it('needs one place', async () => {
    const message = 'Give --secret-file or --to-env: the secret is shown only once.'
    for (const options of [NAMED, { ...NAMED, secretFile: file, toEnv: file }])
      await expect(openKeeper(options, createTestIo().io)).rejects.toMatchObject({ exitCode: 2, message })
  })
})

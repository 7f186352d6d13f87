import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Webhook } from 'postern/client'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { holdPlace } from '../../src/cli/output/hold-place.ts'
import { openKeeper } from '../../src/cli/output/secret-keeper.ts'
import { createTestIo } from './test-io.ts'

const WEBHOOK = { id: 'w1' } as Webhook // nothing else of it is kept
const NAMED = { secretEnv: 'HOOK' }

let folder: string
let file: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postern-keeper-'))
  file = join(folder, 'file')
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
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

describe('a place that is held', () => {
  const never = async () => false

  it('is held by one run, and shows that it is alive', async () => {
    const held = await holdPlace(file, never, createTestIo().io)
    const begin = (await stat(`${file}.lock`)).mtimeMs
    expect((await stat(`${file}.lock`)).mode & 0o777).toBe(0o600)
    await expect.poll(async () => (await stat(`${file}.lock`)).mtimeMs, { interval: 20 }).toBeGreaterThan(begin)
    await held[Symbol.asyncDispose]()
    expect(await readdir(folder)).toEqual([])
  })

  it('is taken by the next run once it is free, and by none if it was filled meanwhile', async () => {
    const first = await holdPlace(file, never, createTestIo().io)
    let isFilled = false
    const next = holdPlace(file, never, createTestIo().io)
    const late = holdPlace(file, async () => isFilled, createTestIo().io)
    isFilled = true
    await (await late)[Symbol.asyncDispose]()
    expect(await readdir(folder)).toEqual(['file.lock'])
    await first[Symbol.asyncDispose]()
    await (await next)[Symbol.asyncDispose]()
    expect(await readdir(folder)).toEqual([])
  })

  it('needs no lock if it is filled', async () => {
    await (await holdPlace(file, async () => true, createTestIo().io))[Symbol.asyncDispose]()
    expect(await readdir(folder)).toEqual([])
  })

  it('says once after a second that it waits, and is left at Ctrl-C', async () => {
    const { io, written, interrupt } = createTestIo()
    await writeFile(`${file}.lock`, '')
    const begin = performance.now()
    const held = holdPlace(file, never, io)
    const refused = expect(held).rejects.toMatchObject({ name: 'AbortError' })
    await expect.poll(() => written.stderr).not.toBe('')
    expect(performance.now() - begin).toBeGreaterThan(990)
    await utimes(`${file}.lock`, 1, 1)
    await expect.poll(() => performance.now() - begin).toBeGreaterThan(1_300)
    interrupt()
    await refused
    expect(written.stderr).toBe(`waiting for another run that is at work on ${file}\n`)
    expect(await readdir(folder)).toEqual(['file.lock'])
  })

  it('is in a folder that can be written', async () => {
    const nowhere = join(folder, 'none', 'file')
    await expect(holdPlace(nowhere, never, createTestIo().io)).rejects.toMatchObject({
      ...{ exitCode: 2, message: expect.stringContaining(`${nowhere} cannot be written: ENOENT`) },
    })
  })
})

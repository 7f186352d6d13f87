import { rmSync } from 'node:fs'
import { chmod, chown, link, lstat, mkdir, readdir, readFile, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { getuid, pid, ppid } from 'node:process'
import { beforeEach, describe, expect, it } from 'vitest'
import { holdFile, type LockTimes, replaceFile, reserveFile } from '../../tools/cli/output/own-file.ts'
import { makeTestFolder } from '../support/test-folder.ts'
import { createTestIo } from './test-io.ts'

let folder: string
let file: string
let lock: string
beforeEach(() => {
  folder = makeTestFolder()
  file = join(folder, 'file')
  lock = `${file}.lock`
})
const modeOf = async (path: string) => (await stat(path)).mode & 0o777

describe('a file that is replaced', () => {
  it('is readable by its owner only if it is new, and leaves nothing beside it', async () => {
    await writeFile(`${file}.${pid}.new`, 'left by a killed process with the same number')
    await replaceFile(file, 'one')
    expect([await readFile(file, 'utf8'), await modeOf(file)]).toEqual(['one', 0o600])
    expect(await readdir(folder)).toEqual(['file'])
  })

  it('keeps its mode, and the links to it', async () => {
    await writeFile(file, 'one')
    await chmod(file, 0o4644)
    const symbolic = join(folder, 'link')
    await symlink(file, symbolic)
    await replaceFile(symbolic, Buffer.from('two'))
    expect([await readFile(file, 'utf8'), await modeOf(file)]).toEqual(['two', 0o644])
    expect((await lstat(symbolic)).isSymbolicLink()).toBe(true)
  })

  it.skipIf(getuid?.() !== 0)('keeps its owner if root replaces it', async () => {
    await writeFile(file, 'one')
    await chown(file, 1234, 1235)
    await replaceFile(file, 'two')
    expect(await stat(file)).toMatchObject({ uid: 1234, gid: 1235 })
  })

  it('is a new file, so that a reader of the old one reads it to its end', async () => {
    await writeFile(file, 'one')
    await link(file, join(folder, 'before'))
    await replaceFile(file, 'two')
    expect(await readFile(join(folder, 'before'), 'utf8')).toBe('one')
  })

  it('stays as it was if it cannot be replaced', async () => {
    await mkdir(file)
    await expect(replaceFile(file, 'one')).rejects.toMatchObject({ code: 'EISDIR' })
    const missing = replaceFile(join(folder, 'none', 'file'), 'one')
    await expect(missing).rejects.toMatchObject({ code: 'ENOENT', syscall: 'open' })
    expect(await readdir(folder)).toEqual(['file'])
  })
})

describe('a file that is reserved', () => {
  it('is empty, and for its owner only', async () => {
    await reserveFile(file)
    expect([await readFile(file, 'utf8'), await modeOf(file)]).toEqual(['', 0o600])
  })

  it('overwrites nothing, and needs a folder', async () => {
    await writeFile(file, 'old')
    const message = `${file} is there already, and is not overwritten. Name another file.`
    await expect(reserveFile(file)).rejects.toMatchObject({ exitCode: 2, message })
    expect(await readFile(file, 'utf8')).toBe('old')
    const missing = reserveFile(join(folder, 'none', 'file'))
    await expect(missing).rejects.toMatchObject({ exitCode: 2, message: expect.stringMatching(/written: ENOENT/) })
  })
})

const never = async () => false
const TIMES: LockTimes = { beatMs: 20, abandonedAfterMs: 300, tellAfterMs: 100, waitMs: 10_000, lookMs: 10 }
const hold = (times: Partial<LockTimes> = {}, isFilled = never, { io } = createTestIo()) =>
  holdFile(file, isFilled, io, { ...TIMES, ...times })

describe('a file that is held', () => {
  it('has a lock for its owner only, which is touched again and again', async () => {
    const held = await hold()
    const { mode, mtimeMs } = await stat(lock)
    expect(mode & 0o777).toBe(0o600)
    await expect.poll(async () => (await stat(lock)).mtimeMs, { interval: 20 }).toBeGreaterThan(mtimeMs)
    rmSync(lock) // by another process
    await held[Symbol.asyncDispose]()
    expect(await readdir(folder)).toEqual([])
  })

  it('passes to the next run once it is free, and to none if it was filled meanwhile', async () => {
    const first = await hold()
    let isFilled = false
    const next = hold()
    const late = hold({}, async () => isFilled)
    isFilled = true
    await (await late)[Symbol.asyncDispose]()
    expect(await readdir(folder)).toEqual(['file.lock'])
    await first[Symbol.asyncDispose]()
    await (await next)[Symbol.asyncDispose]()
    expect(await readdir(folder)).toEqual([])
  })

  it('is taken over from a killed run, by one waiting run after the other, but not sooner', async () => {
    await writeFile(lock, '')
    const begin = performance.now()
    const runs = Array.from({ length: 5 }, async () => {
      await using _held = await hold()
      expect(performance.now() - begin).toBeGreaterThan(290)
    })
    await Promise.all(runs)
    expect(await readdir(folder)).toEqual([])
  })

  it('is not taken from a living run: the next one gives up in time', async () => {
    await writeFile(lock, '')
    const terminal = createTestIo()
    let beats = 0
    const look = () => utimes(lock, ++beats, beats).then(never)
    const fix = `Run the command again when that one has ended. If there is none: delete ${lock}`
    const refusal = { exitCode: 5, message: `Another run is using ${file}.`, fix }
    const times = { abandonedAfterMs: 0, waitMs: 100, tellAfterMs: 10_000 }
    await expect(hold(times, look, terminal)).rejects.toMatchObject(refusal)
    expect([await readdir(folder), terminal.written.stderr]).toEqual([['file.lock'], ''])
  })

  it('is not taken from a suspended run', async () => {
    await writeFile(lock, `${ppid}`)
    await expect(hold({ abandonedAfterMs: 0, waitMs: 100 })).rejects.toMatchObject({ exitCode: 5 })
    expect(await readdir(folder)).toEqual(['file.lock'])
  })

  it('makes the next run say once that it waits, until Ctrl-C', async () => {
    const terminal = createTestIo()
    await writeFile(lock, '')
    let looks = 0
    const look = async () => ++looks < 0
    const refused = expect(hold({ abandonedAfterMs: 60_000 }, look, terminal)).rejects.toThrow('aborted')
    await expect.poll(() => terminal.written.stderr, { interval: 10 }).not.toBe('')
    const before = looks
    await expect.poll(() => looks, { interval: 10 }).toBeGreaterThan(before + 3)
    terminal.interrupt()
    await refused
    expect(terminal.written.stderr).toBe(`waiting for another run that is using ${file}\n`)
  })

  it('is refused if the folder cannot be written', async () => {
    file = join(folder, 'none', 'file')
    const missing = expect.stringContaining(`${file} cannot be written: ENOENT`)
    await expect(hold()).rejects.toMatchObject({ exitCode: 2, message: missing })
  })
})

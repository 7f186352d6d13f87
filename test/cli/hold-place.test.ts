import { mkdir, readdir, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { holdPlace, type LockTimes } from '../../src/cli/output/hold-place.ts'
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
const never = async () => false
const TIMES: LockTimes = { beatMs: 20, abandonedAfterMs: 300, tellAfterMs: 100, waitMs: 10_000, lookMs: 10 }
const hold = (times: Partial<LockTimes> = {}, isFilled = never, { io } = createTestIo()) =>
  holdPlace(file, isFilled, io, { ...TIMES, ...times })

/** Shows the life of another run in the lock, until the test ends. */
async function beat(): Promise<void> {
  await writeFile(lock, '')
  const timer = setInterval(() => utimes(lock, new Date(), new Date()).catch(() => {}), 20)
  onTestFinished(() => clearInterval(timer))
}

describe('a place that is held', () => {
  it('is held by one run, and shows that it is alive', async () => {
    const held = await hold()
    const { mode, mtimeMs } = await stat(lock)
    expect(mode & 0o777).toBe(0o600)
    await expect.poll(async () => (await stat(lock)).mtimeMs, { interval: 20 }).toBeGreaterThan(mtimeMs)
    await held[Symbol.asyncDispose]()
    expect(await readdir(folder)).toEqual([])
  })

  it('is taken by the next run once it is free, and by none if it was filled meanwhile', async () => {
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

  it('needs no lock if it is filled', async () => {
    const place = await hold({}, async () => true)
    expect(await place.isHeld()).toBe(false)
    await place[Symbol.asyncDispose]()
    expect(await readdir(folder)).toEqual([])
  })

  it('is taken over from a run that was killed, but not sooner', async () => {
    await writeFile(lock, '')
    const begin = performance.now()
    const held = await hold()
    expect(performance.now() - begin).toBeGreaterThan(290)
    await held[Symbol.asyncDispose]()
  })

  it('is taken by one run after the other if several have waited for one that was killed', async () => {
    await writeFile(lock, '')
    const runs = Array.from({ length: 5 }, async () => {
      const held = await hold()
      await held[Symbol.asyncDispose]()
    })
    await expect(Promise.all(runs)).resolves.toHaveLength(5)
    expect(await readdir(folder)).toEqual([])
  })

  it('is looked at ten times a second, and no more often', async () => {
    await writeFile(lock, '')
    const { io, interrupt } = createTestIo()
    const begin = performance.now()
    let looks = 0
    const look = async () => ++looks < 0
    const refused = expect(holdPlace(file, look, io)).rejects.toMatchObject({ name: 'AbortError' })
    await expect.poll(() => looks, { interval: 10 }).toBe(3)
    expect(performance.now() - begin).toBeGreaterThan(190)
    interrupt()
    await refused
  })

  it('is not taken from a run that is alive: the next one gives up in time', async () => {
    await beat()
    await expect(hold({ abandonedAfterMs: 700, waitMs: 1_400 })).rejects.toMatchObject({
      ...{
        exitCode: 5,
        message: `Another run is using ${file}.`,
        fix: 'Run the command again when that one has ended.',
      },
    })
    expect(await readdir(folder)).toEqual(['file.lock'])
  })

  it('may be lost to another run, which takes it for dead, knows it, and leaves it to that one', async () => {
    const held = await hold({ beatMs: 10_000 })
    expect(await held.isHeld()).toBe(true)
    const next = await hold()
    expect([await held.isHeld(), await next.isHeld()]).toEqual([false, true])
    await held[Symbol.asyncDispose]()
    expect(await readdir(folder)).toEqual(['file.lock'])
    await next[Symbol.asyncDispose]()
    expect([await next.isHeld(), await readdir(folder)]).toEqual([false, []])
  })

  it('says once that it waits, and is left at Ctrl-C', async () => {
    const terminal = createTestIo()
    await beat()
    const begin = performance.now()
    let looks = 0
    const look = async () => ++looks < 0
    const refused = expect(hold({}, look, terminal)).rejects.toMatchObject({ name: 'AbortError' })
    await expect.poll(() => terminal.written.stderr, { interval: 10 }).not.toBe('')
    expect(performance.now() - begin).toBeGreaterThan(95)
    const before = looks
    await expect.poll(() => looks, { interval: 10 }).toBeGreaterThan(before + 3)
    terminal.interrupt()
    await refused
    expect(terminal.written.stderr).toBe(`waiting for another run that is using ${file}\n`)
    expect(await readdir(folder)).toEqual(['file.lock'])
  })

  it('is the same under another name: a link to the file, or to its folder', async () => {
    const linked = join(folder, 'linked')
    const below = join(folder, 'folder')
    await mkdir(below)
    await symlink(below, linked)
    file = join(below, 'file')
    const first = await hold()
    const taken = { exitCode: 5 }
    file = join(linked, 'file')
    await expect(hold({ waitMs: 50 })).rejects.toMatchObject(taken)
    await writeFile(file, '')
    file = join(folder, 'link')
    await symlink(join(below, 'file'), file)
    await expect(hold({ waitMs: 50 })).rejects.toMatchObject(taken)
    await first[Symbol.asyncDispose]()
    expect(await readdir(folder)).toEqual(['folder', 'link', 'linked'])
    expect(await readdir(below)).toEqual(['file'])
  })

  it('is refused if a lock without life cannot be removed', async () => {
    await mkdir(lock)
    await expect(hold()).rejects.toMatchObject({
      ...{ exitCode: 2, message: expect.stringContaining('file.lock cannot be removed: ') },
    })
  })

  it('is in a folder that can be written', async () => {
    file = join(folder, 'none', 'file')
    await expect(hold()).rejects.toMatchObject({
      ...{ exitCode: 2, message: expect.stringContaining(`${file} cannot be written: ENOENT`) },
    })
  })
})

import {
  chmod,
  chown,
  link,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { getuid, pid, platform } from 'node:process'
import { beforeEach, describe, expect, it } from 'vitest'
import { replaceFile, syncFolder } from '../../src/cli/output/replace-file.ts'
import { reserveSecretFile } from '../../src/cli/output/secret-file.ts'
import { makeTestFolder } from '../support/test-folder.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = makeTestFolder()
  file = join(folder, 'file')
})
const modeOf = async (path: string) => (await stat(path)).mode & 0o777

describe('a file that is replaced', () => {
  it('can be read by its owner only if it is new, and leaves nothing beside it', async () => {
    await replaceFile(file, 'one')
    expect(await readFile(file, 'utf8')).toBe('one')
    expect(await modeOf(file)).toBe(0o600)
    expect(await readdir(folder)).toEqual(['file'])
  })

  it('keeps its mode, and the links to it', async () => {
    await writeFile(file, 'one')
    await chmod(file, 0o4644)
    const symbolic = join(folder, 'link')
    await symlink(file, symbolic)
    await replaceFile(symbolic, Buffer.from('two'))
    expect(await readFile(file, 'utf8')).toBe('two')
    expect(await modeOf(file)).toBe(0o644)
    expect((await lstat(symbolic)).isSymbolicLink()).toBe(true)
  })

  it.skipIf(getuid?.() !== 0)('keeps its owner if root replaces it', async () => {
    await writeFile(file, 'one')
    await chown(file, 1234, 1235)
    await replaceFile(file, 'two')
    expect(await stat(file)).toMatchObject({ uid: 1234, gid: 1235 })
  })

  it('is another one than before: who has it open reads the old content', async () => {
    await writeFile(file, 'one')
    await link(file, join(folder, 'before'))
    await replaceFile(file, 'two')
    expect(await readFile(join(folder, 'before'), 'utf8')).toBe('one')
  })

  it('takes the place of what a killed process of the same number has left', async () => {
    await writeFile(`${file}.${pid}.new`, 'half')
    await replaceFile(file, 'one')
    expect(await readFile(file, 'utf8')).toBe('one')
  })

  it('stays as it was if it cannot be replaced', async () => {
    await mkdir(file)
    await expect(replaceFile(file, 'one')).rejects.toMatchObject({ code: 'EISDIR' })
    await expect(replaceFile(join(folder, 'none', 'file'), 'one')).rejects.toMatchObject({ code: 'ENOENT' })
    expect(await readdir(folder)).toEqual(['file'])
  })

  it.runIf(platform === 'linux')('is not left open', async () => {
    await replaceFile(file, 'one')
    const links = (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => ''))
    expect((await Promise.all(links)).filter((path) => path.startsWith(folder))).toEqual([])
  })

  it('is no matter for a folder that cannot be opened', async () => {
    await expect(syncFolder(join(folder, 'none', 'file'))).resolves.toBeUndefined()
  })
})

describe('the file of a secret', () => {
  it('is reserved before there is a secret, for its owner only', async () => {
    const reserved = await reserveSecretFile(file)
    expect(await readFile(file, 'utf8')).toBe('')
    expect(await modeOf(file)).toBe(0o600)
    await reserved.save('whsec_1')
    expect(await readFile(file, 'utf8')).toBe('whsec_1\n')
  })

  it('is taken away again, before and after it is saved', async () => {
    const unused = await reserveSecretFile(file)
    await unused.discard()
    const saved = await reserveSecretFile(file)
    await saved.save('whsec_1')
    await saved.discard()
    await saved.discard()
    expect(await readdir(folder)).toEqual([])
  })

  it('overwrites nothing', async () => {
    await writeFile(file, 'old')
    await expect(reserveSecretFile(file)).rejects.toMatchObject({
      ...{ exitCode: 2, message: `${file} is there already, and is not overwritten. Name another file.` },
    })
    expect(await readFile(file, 'utf8')).toBe('old')
  })

  it('is in a folder that can be written', async () => {
    await expect(reserveSecretFile(join(folder, 'none', 'file'))).rejects.toMatchObject({
      ...{ exitCode: 2, message: expect.stringMatching(/none\/file cannot be written: ENOENT/) },
    })
  })
})

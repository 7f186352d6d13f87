import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { writeOwnFiles } from '../../src/cli/output/write-own-files.ts'
import { makeTestFolder } from '../support/test-folder.ts'

let folder: string
beforeEach(() => {
  folder = makeTestFolder()
})
const write = (files: Readonly<Record<string, string>>, to = folder) =>
  writeOwnFiles(to, {
    tool: 'postern test',
    index: { seed: '1' },
    files: new Map(Object.entries(files).map(([name, text]) => [name, Buffer.from(text)])),
  })
const put = (name: string, text: string) => writeFile(join(folder, name), text)
const read = (name: string) => readFile(join(folder, name), 'utf8')
const advice = 'and is not overwritten. Name another folder, or move that file away.'

describe('the files of a command', () => {
  it('stand in a new folder, with an index of their digests', async () => {
    const deep = join(folder, 'a/b')
    await write({ one: 'x' }, deep)
    expect(await readdir(deep)).toEqual(['index.json', 'one'])
    expect(await read('a/b/index.json')).toBe(
      `${JSON.stringify({ tool: 'postern test', seed: '1', sha256: { one: '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881' } }, null, 2)}\n`,
    )
  })

  it('replace those of the last time, and remove what is no longer among them', async () => {
    await write({ one: 'x', two: 'y', changed: 'z', gone: 'w' })
    await put('changed', 'by the user')
    await put('other', 'of the user')
    await rm(join(folder, 'gone'))
    await write({ one: 'new' })
    expect(await readdir(folder)).toEqual(['changed', 'index.json', 'one', 'other'])
    expect(await read('one')).toBe('new')
    expect(Object.keys(JSON.parse(await read('index.json')).sha256)).toEqual(['one'])
  })

  it('replace no file that the user has changed or made, and change nothing then', async () => {
    await write({ one: 'x', two: 'y' })
    const index = await read('index.json')
    await put('two', 'by the user')
    await expect(write({ one: 'new', two: 'new' })).rejects.toMatchObject({
      ...{ exitCode: 2, message: `${join(folder, 'two')} was changed since it was written, ${advice}` },
    })
    await put('three', 'of the user')
    await expect(write({ one: 'new', three: 'new' })).rejects.toMatchObject({
      ...{ exitCode: 2, message: `${join(folder, 'three')} is not from this command, ${advice}` },
    })
    expect([await read('one'), await read('two'), await read('index.json')]).toEqual(['x', 'by the user', index])
  })

  it.each(['null', '7', '"tool"', '[]', '{}', '{"tool":"another"}', '{'])(
    'leave an index alone that is not theirs: %s',
    async (index) => {
      await put('index.json', index)
      await expect(write({ one: 'x' })).rejects.toMatchObject({
        ...{ exitCode: 2, message: `${join(folder, 'index.json')} is not from this command, ${advice}` },
      })
      expect(await readdir(folder)).toEqual(['index.json'])
    },
  )

  it('take an index without digests for their own', async () => {
    await put('index.json', '{"tool":"postern test"}')
    await put('one', 'x')
    await write({ one: 'x' })
    await put('index.json', '{"tool":"postern test"}')
    await expect(write({ one: 'y' })).rejects.toMatchObject({ exitCode: 2 })
  })

  it('stay within their folder, whatever the index says', async () => {
    await mkdir(join(folder, 'in'))
    await put('out', 'x')
    const sha256 = { '../out': '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881' }
    await put('in/index.json', JSON.stringify({ tool: 'postern test', sha256 }))
    await write({ one: 'x' }, join(folder, 'in'))
    expect(await read('out')).toBe('x')
  })

  it('replace a link instead of what it leads to', async () => {
    await put('target', 'x')
    await mkdir(join(folder, 'in'))
    await symlink(join(folder, 'target'), join(folder, 'in/one'))
    await write({ one: 'x' }, join(folder, 'in'))
    await write({ one: 'y' }, join(folder, 'in'))
    expect([await read('target'), await read('in/one')]).toEqual(['x', 'y'])
  })

  it('cannot be written if a folder has the name of one, or a file that of their folder', async () => {
    await mkdir(join(folder, 'one'))
    const message = expect.stringContaining(`${folder} cannot be written: EISDIR`)
    await expect(write({ one: 'x' })).rejects.toMatchObject({ exitCode: 2, message })
    await put('file', '')
    await expect(write({ one: 'x' }, join(folder, 'file'))).rejects.toMatchObject({
      ...{ exitCode: 2, message: expect.stringContaining('file cannot be written: EEXIST') },
    })
  })
})

import { mkdir, readdir, readFile, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { createReceiver } from 'postern'
import { describe, expect, it } from 'vitest'
import { SECRET } from '../check/faulty/hand-written.ts'
import { useFolder } from './folder.ts'
import { ended, runCli } from './run-cli.ts'

const folder = useFolder()

const TYPES = [
  ...['contact.created', 'contact.updated', 'contact.deleted'],
  ...['finance.payment.completed', 'finance.payment.failed'],
  ...['sync.completed', 'sync.failed', 'import.completed', 'export.completed'],
]

const write = (...args: readonly string[]) => runCli(['fixtures', '--out', folder.path, ...args])

describe('postern fixtures', () => {
  it('writes an event of each type, in files that a receiver accepts unchanged', async () => {
    const { code, stdout } = await write()
    expect(code).toBe(0)
    expect(stdout).toBe(TYPES.map((type) => `${folder.at(type)}.json\n`).join(''))
    const { fixtures } = JSON.parse(await folder.read('index.json'))
    expect(fixtures.map(({ type }: { type: string }) => type)).toEqual(TYPES)
    const receiver = createReceiver({ secret: SECRET }).on('*', () => {})
    for (const { type, eventId, body: file, headers: headersFile, signature } of fixtures) {
      const body = await readFile(folder.at(file))
      expect(JSON.parse(body.toString())).toMatchObject({ id: eventId, type, accountKey: 'acme' })
      expect(await folder.read(headersFile)).toBe(`Content-Type: application/json\nX-Service-Signature: ${signature}\n`)
      expect(await receiver.receive({ body, signature })).toMatchObject({ outcome: 'handled', type })
    }
  })

  it('prints the index for programs, and the secret nowhere', async () => {
    const deep = folder.at('a/b')
    const options = ['--json', '--account', 'globex', '--model', 'opportunity', '--out', deep]
    const { code, stdout, stderr } = await write(...options)
    expect(code).toBe(0)
    expect(JSON.parse(stdout).fixtures).toHaveLength(TYPES.length + 3)
    expect(JSON.parse(await folder.read('a/b/opportunity.deleted.json')).accountKey).toBe('globex')
    const curl = 'curl -i http://localhost:3000/webhooks -H @sync.failed.headers --data-binary @sync.failed.json'
    expect(await folder.read('a/b/README.md')).toContain(curl)
    const files = await Promise.all((await readdir(deep)).map((name) => folder.read(join('a/b', name))))
    expect([stdout, stderr, ...files].join()).not.toContain(SECRET)
  })

  it('writes the same files again', async () => {
    await write()
    const read = async () => Promise.all((await readdir(folder.path)).sort().map(folder.read))
    const first = await read()
    expect((await write()).code).toBe(0)
    expect(await read()).toEqual(first)
  })

  it.each([
    ['a file of its name', 'contact.created.json', '{}'],
    ['an index of another program', 'index.json', '{"tool":"x"}'],
    ['an index that is null', 'index.json', 'null'],
    ['an index that is no JSON', 'index.json', '{'],
    ['a page', 'README.md', '# Mine'],
  ])('overwrites only its own files: %s', async (_what, name, text) => {
    await folder.write(name, text)
    const advice = 'and is not overwritten. Name another folder, or move that file away.'
    expect(await write()).toEqual(ended(2, `postern: ${folder.at(name)} is not from this command, ${advice}\n`))
    expect([await readdir(folder.path), await folder.read(name)]).toEqual([[name], text])
  })

  it('continues after a run that was killed before it wrote all files', async () => {
    await write()
    await rm(folder.at('sync.failed.json'))
    expect((await write()).code).toBe(0)
    expect(await readdir(folder.path)).toHaveLength(2 * TYPES.length + 2)
  })

  it('removes the files that it no longer writes, and no others', async () => {
    await write('--model', 'opportunity')
    await folder.write('notes.txt', 'mine')
    expect((await write()).code).toBe(0)
    const left = await readdir(folder.path)
    expect(left.filter((name) => /^(opportunity|notes)/.test(name))).toEqual(['notes.txt'])
  })

  it('touches nothing outside of its folder, whatever an index or a link says', async () => {
    const inner = ['fixtures', '--out', folder.at('inner')]
    await folder.write('stranger', '')
    await runCli(inner)
    const index = JSON.parse(await folder.read('inner/index.json'))
    index.fixtures.push({ body: '../stranger', headers: '../stranger' })
    await folder.write('inner/index.json', JSON.stringify(index))
    await rm(folder.at('inner/contact.created.json'))
    await symlink(folder.at('target'), folder.at('inner/contact.created.json'))
    expect((await runCli(inner)).code).toBe(0)
    expect(await readdir(folder.path)).toEqual(['inner', 'stranger'])
  })

  it('refuses a model that is no name, and what it cannot write', async () => {
    expect(await write('--model', '../x')).toEqual(ended(2, 'A model is a letter'))
    await mkdir(folder.at('contact.created.json'))
    expect((await write()).stderr).toContain('contact.created.json cannot be read: EISDIR')
    await folder.write('file', '')
    expect((await write('--out', folder.at('file'))).stderr).toContain('file cannot be written: EEXIST')
  })
})

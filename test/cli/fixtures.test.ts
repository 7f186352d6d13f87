import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createReceiver } from 'postern'
import { beforeEach, describe, expect, it } from 'vitest'
import { SECRET } from '../check/faulty/hand-written.ts'
import { makeTestFolder } from '../support/test-folder.ts'
import { runCli } from './run-cli.ts'

let folder: string
beforeEach(() => {
  folder = makeTestFolder()
})

const TYPES = [
  ...['contact.created', 'contact.updated', 'contact.deleted'],
  ...['finance.payment.completed', 'finance.payment.failed'],
  ...['sync.completed', 'sync.failed', 'import.completed', 'export.completed'],
]

const write = (...args: readonly string[]) => runCli(['fixtures', '--out', folder, ...args])
const put = (name: string, text: string) => writeFile(join(folder, name), text)
const readText = (name: string) => readFile(join(folder, name), 'utf8')

describe('postern fixtures', () => {
  it('writes an event of each type, in files that a receiver accepts unchanged', async () => {
    const { code, stdout } = await write()
    expect(code).toBe(0)
    expect(stdout).toBe(TYPES.map((type) => `${join(folder, type)}.json\n`).join(''))
    const { fixtures } = JSON.parse(await readText('index.json'))
    expect(fixtures.map(({ type }: { type: string }) => type)).toEqual(TYPES)
    const receiver = createReceiver({ secret: SECRET }).on('*', () => {})
    for (const { type, eventId, body: file, headers: headersFile, signature } of fixtures) {
      const body = await readFile(join(folder, file))
      expect(JSON.parse(body.toString())).toMatchObject({ id: eventId, type, accountKey: 'acme' })
      expect(await readText(headersFile)).toBe(`Content-Type: application/json\nX-Service-Signature: ${signature}\n`)
      expect(await receiver.receive({ body, signature })).toMatchObject({ outcome: 'handled', type })
    }
  })

  it('prints the index for programs, and the secret nowhere', async () => {
    const deep = join(folder, 'a/b')
    const { code, stdout, stderr } = await write(
      '--json',
      '--account',
      'globex',
      '--model',
      'opportunity',
      '--out',
      deep,
    )
    expect(code).toBe(0)
    expect(JSON.parse(stdout).fixtures).toHaveLength(TYPES.length + 3)
    expect(JSON.parse(await readText('a/b/opportunity.deleted.json')).accountKey).toBe('globex')
    const curl = 'curl -i http://localhost:3000/webhooks -H @sync.failed.headers --data-binary @sync.failed.json'
    expect(await readText('a/b/README.md')).toContain(curl)
    const files = await Promise.all((await readdir(deep)).map((name) => readText(join('a/b', name))))
    expect([stdout, stderr, ...files].join()).not.toContain(SECRET)
  })

  it('writes the same files again, and other ids with another seed', async () => {
    await write()
    const read = async () => Promise.all((await readdir(folder)).sort().map(readText))
    const first = await read()
    expect((await write()).code).toBe(0)
    expect(await read()).toEqual(first)
    expect((await write('--seed', 'other')).code).toBe(0)
    expect(first.join()).not.toContain(JSON.parse(await readText('index.json')).fixtures[0].eventId)
  })

  it.each([
    ['a file of its name', 'contact.created.json', '{}'],
    ['an index of another program', 'index.json', '{"tool":"x"}'],
    ['an index that is null', 'index.json', 'null'],
    ['an index that is no JSON', 'index.json', '{'],
    ['a page', 'README.md', '# Mine'],
  ])('overwrites only its own files: %s', async (_what, name, text) => {
    await put(name, text)
    const advice = 'and is not overwritten. Name another folder, or move that file away.'
    const stderr = `postern: ${join(folder, name)} is not from this command, ${advice}\n`
    expect(await write()).toEqual({ code: 2, stdout: '', stderr })
    expect([await readdir(folder), await readText(name)]).toEqual([[name], text])
  })

  it('changes nothing if one of its files was changed since', async () => {
    await put('notes.txt', 'mine')
    await write()
    const index = await readText('index.json')
    await put('sync.failed.json', '{"edited": true}')
    const { code, stderr } = await write('--seed', 'other')
    expect([code, stderr]).toEqual([2, expect.stringContaining('sync.failed.json was changed since it was written')])
    expect(await Promise.all(['sync.failed.json', 'notes.txt', 'index.json'].map(readText))).toEqual([
      ...['{"edited": true}', 'mine', index],
    ])
  })

  it('continues after a run that was killed before it wrote the index', async () => {
    await write()
    await rm(join(folder, 'index.json'))
    await rm(join(folder, 'sync.failed.json'))
    expect((await write('--seed', 'other')).code).toBe(2)
    expect((await write()).code).toBe(0)
    await put('index.json', '{"tool":"postern fixtures"}') // without digests
    expect((await write()).code).toBe(0)
    expect(await readdir(folder)).toHaveLength(2 * TYPES.length + 2)
  })

  it('removes the files that it no longer writes, and no others', async () => {
    await write('--model', 'opportunity')
    await put('opportunity.deleted.json', 'edited')
    await rm(join(folder, 'opportunity.created.json'))
    expect((await write()).code).toBe(0)
    const left = (await readdir(folder)).filter((name) => name.startsWith('opportunity'))
    expect(left).toEqual(['opportunity.deleted.json'])
    expect((await write('--model', 'opportunity')).code).toBe(2)
    await rm(join(folder, 'opportunity.deleted.json'))
    expect((await write('--model', 'opportunity')).code).toBe(0)
  })

  it('touches nothing outside of its folder, whatever an index or a link says', async () => {
    const inner = ['fixtures', '--out', join(folder, 'inner')]
    await put('stranger', '')
    await runCli(inner)
    const index = JSON.parse(await readText('inner/index.json'))
    index.sha256['../stranger'] = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855' // of no bytes
    await put('inner/index.json', JSON.stringify(index))
    await rm(join(folder, 'inner/contact.created.json'))
    await symlink(join(folder, 'target'), join(folder, 'inner/contact.created.json'))
    expect((await runCli(inner)).code).toBe(0)
    expect(await readdir(folder)).toEqual(['inner', 'stranger'])
  })

  it('refuses a model that is no name, and what it cannot write', async () => {
    const refused = { code: 2, stdout: '', stderr: expect.stringContaining('A model is a letter') }
    expect(await write('--model', '../x')).toEqual(refused)
    await mkdir(join(folder, 'contact.created.json'))
    expect((await write()).stderr).toContain(`${folder} cannot be written: EISDIR`)
    await put('file', '')
    expect((await write('--out', join(folder, 'file'))).stderr).toContain('file cannot be written: EEXIST')
  })
})

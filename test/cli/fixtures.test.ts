import { createHash } from 'node:crypto'
import { readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createReceiver, verify } from 'postern'
import { beforeEach, describe, expect, it } from 'vitest'
import { SECRET } from '../check/faulty/hand-written.ts'
import { makeTestFolder } from '../support/test-folder.ts'
import { runCli } from './run-cli.ts'

let folder: string
beforeEach(() => {
  folder = makeTestFolder()
})

const TYPES = [
  'contact.created',
  'contact.updated',
  'contact.deleted',
  'finance.payment.completed',
  'finance.payment.failed',
  'sync.completed',
  'sync.failed',
  'import.completed',
  'export.completed',
]

const write = (...args: readonly string[]) => runCli(['fixtures', '--out', folder, ...args])
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

  it('prints for each how to send it', async () => {
    await write('--model', 'opportunity')
    const readme = await readText('README.md')
    for (const type of [...TYPES, 'opportunity.deleted'])
      expect(readme).toContain(`curl -i http://localhost:3000/webhooks -H @${type}.headers --data-binary @${type}.json`)
  })

  it('writes the same files again, and other ids with another seed', async () => {
    await write()
    const read = async () => Promise.all((await readdir(folder)).sort().map((name) => readText(name)))
    const first = await read()
    expect((await write()).code).toBe(0)
    expect(await read()).toEqual(first)
    expect((await write('--seed', 'other')).code).toBe(0)
    const { fixtures } = JSON.parse(await readText('index.json'))
    expect(first.join()).not.toContain(fixtures[0].eventId)
  })

  it('prints the index if JSON is requested, and never the secret', async () => {
    const { code, stdout, stderr } = await write('--json', '--account', 'globex')
    expect(code).toBe(0)
    const { fixtures } = JSON.parse(stdout)
    expect(fixtures).toHaveLength(TYPES.length)
    const body = await readFile(join(folder, 'sync.failed.json'))
    expect(JSON.parse(body.toString()).accountKey).toBe('globex')
    expect(verify(body, fixtures[6].signature, SECRET)).toBe(true)
    const files = await Promise.all((await readdir(folder)).map((name) => readText(name)))
    expect([stdout, stderr, ...files].join()).not.toContain(SECRET)
  })

  it.each([
    ['a file of its name', 'contact.created.json', '{}', /contact\.created\.json is not from this command/],
    ['an index of something else', 'index.json', '{"tool":"x"}', /index\.json is not from this command/],
    ['an index that is no JSON', 'index.json', 'x', /index\.json is not from this command/],
    ['a page', 'README.md', '# Mine', /README\.md is not from this command/],
  ])('overwrites only its own files: %s', async (_what, name, text, message) => {
    await writeFile(join(folder, name), text)
    const { code, stdout, stderr } = await write()
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(message)
    expect(await readdir(folder)).toEqual([name])
    expect(await readText(name)).toBe(text)
  })

  it('overwrites no file that was changed since, and leaves other files alone', async () => {
    await writeFile(join(folder, 'notes.txt'), 'mine')
    await write()
    await writeFile(join(folder, 'sync.failed.json'), '{"edited": true}')
    const { code, stderr } = await write('--seed', 'other')
    expect([code, stderr]).toEqual([2, expect.stringMatching(/sync\.failed\.json was changed since it was written/)])
    expect(await readText('sync.failed.json')).toBe('{"edited": true}')
    expect(await readText('notes.txt')).toBe('mine')
  })

  it('continues after a run that was killed before it wrote the index', async () => {
    await write()
    await rm(join(folder, 'index.json'))
    await rm(join(folder, 'sync.failed.json'))
    expect((await write('--seed', 'other')).code).toBe(2)
    expect((await write()).code).toBe(0)
    expect(await readdir(folder)).toHaveLength(2 * TYPES.length + 2)
  })

  it('removes the files that it no longer writes, and no others', async () => {
    await write('--model', 'opportunity')
    await writeFile(join(folder, 'opportunity.deleted.json'), 'edited')
    expect((await write()).code).toBe(0)
    const left = (await readdir(folder)).filter((name) => name.startsWith('opportunity'))
    expect(left).toEqual(['opportunity.deleted.json'])
    expect((await write('--model', 'opportunity')).stderr).toContain(
      'opportunity.deleted.json is not from this command',
    )
    await rm(join(folder, 'opportunity.deleted.json'))
    expect((await write('--model', 'opportunity')).code).toBe(0)
  })

  it('does not touch anything outside of its folder, whatever an index contains', async () => {
    const stranger = join(folder, 'stranger')
    await writeFile(stranger, '')
    const inner = join(folder, 'inner')
    await runCli(['fixtures', '--out', inner])
    const index = JSON.parse(await readText('inner/index.json'))
    index.sha256['../stranger'] = createHash('sha256').update('').digest('hex')
    await writeFile(join(inner, 'index.json'), JSON.stringify(index))
    expect((await runCli(['fixtures', '--out', inner])).code).toBe(0)
    expect(await readText('stranger')).toBe('')
  })

  it('does not write through a link', async () => {
    const target = join(folder, 'elsewhere')
    await symlink(target, join(folder, 'contact.created.json'))
    expect((await write()).code).toBe(0)
    await expect(readFile(target)).rejects.toThrow('ENOENT')
  })

  it.each([
    ['a model that is no name', ['--model', '../x'], /A model is a letter/],
    ['a folder that is a file', ['--out', '/dev/null/x'], /cannot be written/],
  ])('refuses %s', async (_what, args, message) => {
    const { code, stderr } = await write(...args)
    expect(code).toBe(2)
    expect(stderr).toMatch(message)
  })
})

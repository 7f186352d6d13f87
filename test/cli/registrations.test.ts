import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { makeTestFolder } from '../support/test-folder.ts'
import { readLines } from './run-cli.ts'
import { APP, serve } from './serve.ts'

let folder: string
beforeEach(() => {
  folder = makeTestFolder()
})
const inFolder = (name: string) => join(folder, name)
const read = (name: string) => readFile(inFolder(name), 'utf8')
let place: readonly string[]
let secretFile: string
beforeEach(() => {
  secretFile = inFolder('crm.secret')
  place = ['--secret-file', secretFile]
})

describe('postern webhooks ensure', () => {
  const ensure = ['webhooks', 'ensure', '--url', APP, '--events', 'contact.*']

  it('registers once, saves the secret with the id, and corrects the events', async () => {
    const { crm, run } = await serve()
    const place = ['--secret-file', inFolder('crm.secret')]
    const first = await run(...ensure, ...place, '--json')
    expect(first.code).toBe(0)
    const [webhook] = crm.webhooks.list()
    expect(webhook).toMatchObject({ url: APP, active: true, events: expect.arrayContaining(['contact.deleted']) })
    expect(await read('crm.secret')).toBe(`${webhook?.secret}\n`)
    expect(await read('crm.secret.webhook')).toBe(`${webhook?.id}\n`)
    expect((await stat(inFolder('crm.secret'))).mode & 0o777).toBe(0o600)
    expect(readLines(first.stdout)).toMatchObject([{ id: webhook?.id, active: true, isNew: true, deleted: [] }])
    expect(first.stdout + first.stderr).not.toContain(webhook?.secret)
    const second = await run('webhooks', 'ensure', '--url', APP, '--events', 'sync.failed', ...place)
    expect([second.code, second.stdout]).toEqual([0, ''])
    expect(second.stderr).toBe(
      `webhook ${webhook?.id} was there, and is active; its secret is in ${inFolder('crm.secret')}\n`,
    )
    expect(crm.webhooks.list()).toMatchObject([{ id: webhook?.id, events: ['sync.failed'] }])
  })

  it('saves both in an env file, and keeps its other lines', async () => {
    const { crm, run } = await serve()
    await writeFile(inFolder('.env'), 'A=1\nCRM_SECRET=\nB=2')
    const place = ['--to-env', inFolder('.env'), '--secret-env', 'CRM_SECRET']
    expect((await run(...ensure, ...place)).code).toBe(0)
    const [webhook] = crm.webhooks.list()
    expect(await read('.env')).toBe(`A=1\nCRM_SECRET=${webhook?.secret}\nB=2\nCRM_SECRET_WEBHOOK_ID=${webhook?.id}\n`)
    expect((await run(...ensure, ...place)).stderr).toContain(`webhook ${webhook?.id} was there`)
    expect(crm.webhooks.list()).toHaveLength(1)
  })

  it('cleans up after a crash that kept the secret from being saved', async () => {
    const { crm, run, create } = await serve()
    const lost = create({ active: false })
    crm.webhooks.delete(lost.id)
    const { id } = crm.webhooks.create({
      url: APP,
      events: ['contact.created'],
      active: false,
      description: '(postern)',
    })
    // The id is stored before the secret.
    await writeFile(inFolder('crm.secret.webhook'), `${id}\n`)
    const { code, stderr } = await run(...ensure, '--secret-file', inFolder('crm.secret'))
    expect([code, stderr]).toEqual([0, expect.stringContaining(`webhook ${id} is deleted: its secret was lost\n`)])
    const [webhook, ...more] = crm.webhooks.list()
    expect(more).toEqual([])
    expect(await read('crm.secret')).toBe(`${webhook?.secret}\n`)
    expect(await read('crm.secret.webhook')).toBe(`${webhook?.id}\n`)
  })

  it('refuses an active webhook whose secret is lost, unless it is to be replaced', async () => {
    const { crm, run, create } = await serve()
    const { id } = create()
    const place = ['--secret-file', inFolder('crm.secret')]
    const refused = await run(...ensure, ...place, '--json')
    expect(refused.code).toBe(1)
    expect(readLines(refused.stdout)).toMatchObject([{ error: { fix: expect.stringContaining('--replace-active') } }])
    expect(crm.webhooks.list()).toMatchObject([{ id }])
    expect((await run(...ensure, ...place, '--replace-active')).code).toBe(0)
    expect(crm.webhooks.list().map((webhook) => webhook.id)).not.toContain(id)
  })

  it('leaves no webhook behind if the secret cannot be written', async () => {
    const { crm, run } = await serve()
    await mkdir(inFolder('crm.secret.webhook'))
    const { code, stderr } = await run(...ensure, '--secret-file', inFolder('crm.secret'))
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/crm\.secret cannot be written: EISDIR.*crm\.secret\..*deleted again/),
    ])
    expect(crm.webhooks.list()).toEqual([])
    expect(await readdir(folder)).toEqual(['crm.secret.webhook'])
  })

  it('ends with one webhook and its secret, if five run at the same time', async () => {
    const { crm, run } = await serve()
    const place = ['--secret-file', inFolder('crm.secret')]
    const all = await Promise.all(Array.from({ length: 5 }, () => run(...ensure, ...place)))
    expect(all.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0])
    const [webhook, ...more] = crm.webhooks.list()
    expect(more).toEqual([])
    expect(webhook?.active).toBe(true)
    expect(await read('crm.secret')).toBe(`${webhook?.secret}\n`)
    expect(await read('crm.secret.webhook')).toBe(`${webhook?.id}\n`)
    expect((await readdir(folder)).toSorted()).toEqual(['crm.secret', 'crm.secret.webhook'])
  })

  it('needs no writable folder if the secret is there', async () => {
    const { run } = await serve()
    const place = ['--secret-file', inFolder('crm.secret')]
    await run(...ensure, ...place)
    // A lock of a live process stands for such a folder: tests may run as root.
    await writeFile(inFolder('crm.secret.lock'), '')
    const beat = setInterval(() => writeFile(inFolder('crm.secret.lock'), ''), 100)
    onTestFinished(() => clearInterval(beat))
    const { code, stderr } = await run(...ensure, ...place)
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^webhook \w+ was there, and is active/)])
  })

  it('does not overwrite the secret of another webhook', async () => {
    const { crm, run } = await serve()
    const place = ['--secret-file', inFolder('crm.secret')]
    await run(...ensure, ...place)
    const secret = await read('crm.secret')
    for (const { id } of crm.webhooks.list()) crm.webhooks.delete(id)
    const { code, stderr } = await run(...ensure, ...place)
    expect([code, stderr]).toEqual([1, expect.stringContaining('holds the secret of another webhook')])
    expect(await read('crm.secret')).toBe(secret)
    expect(crm.webhooks.list()).toEqual([])
  })

  it.each([
    ['no place', []],
    ['a file with a secret of no known webhook', ['--secret-file', 'FOLDER/mine']],
    ['a secret in place of a name', ['--to-env', 'FOLDER/y', '--secret-env', 'whsec_a-b']],
  ])('refuses %s', async (_what, args) => {
    const { crm, run } = await serve()
    await writeFile(inFolder('mine'), 'whsec_mine\n')
    await writeFile(inFolder('.env'), 'WEBHOOK_SECRET=mine\n')
    const { code, stdout } = await run(...ensure, ...args.map((arg) => arg.replace('FOLDER', folder)))
    expect([code, stdout]).toEqual([2, ''])
    expect(crm.webhooks.list()).toEqual([])
    expect(await read('mine')).toBe('whsec_mine\n')
  })

  it('describes a new webhook by --description, and tells people the place of its secret', async () => {
    const { crm, run } = await serve()
    const { code, stdout, stderr } = await run(
      'webhooks',
      'ensure',
      '--url',
      APP,
      '--events',
      'contact.*',
      ...place,
      '--description',
      'the app of Ada',
    )
    expect([code, stdout]).toEqual([0, ''])
    const [webhook] = crm.webhooks.list()
    expect(webhook?.description).toContain('the app of Ada')
    expect(stderr).toBe(`webhook ${webhook?.id} is registered and active; its secret is in ${secretFile}\n`)
  })

  it('takes types that the service does not name only with --any-type', async () => {
    const { crm, run } = await serve()
    expect((await run('webhooks', 'ensure', '--url', APP, '--events', 'moon.risen', ...place)).code).toBe(2)
    expect((await run('webhooks', 'ensure', '--url', APP, '--events', 'moon.risen', ...place, '--any-type')).code).toBe(
      0,
    )
    expect(crm.webhooks.list()).toMatchObject([{ events: ['moon.risen'] }])
  })

  it('prints for programs what the service says of the webhook, which webhooks were deleted, and the place of the secret', async () => {
    const { crm, run, create } = await serve()
    const lost = create()
    const { stdout } = await run(
      'webhooks',
      'ensure',
      '--url',
      APP,
      '--events',
      'contact.created',
      ...place,
      '--replace-active',
      '--json',
    )
    const [webhook] = crm.webhooks.list()
    expect(readLines(stdout)).toEqual([
      {
        ...{ id: webhook?.id, url: APP, events: ['contact.created'], active: true, description: expect.any(String) },
        ...{ createdAt: expect.any(String), isNew: true, deleted: [lost.id], secretIn: secretFile },
      },
    ])
  })
})

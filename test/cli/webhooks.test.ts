import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Reply } from '../client/support.ts'
import { startWebhookService } from '../client/webhook-service.ts'
import { readLines, runCli, startCli } from './run-cli.ts'
import { ADA, APP, serve, serveHandMade } from './serve.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postern-cli-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('postern webhooks', () => {
  it('lists webhooks', async () => {
    const { run, create } = await serve()
    expect(await run('webhooks', 'list')).toEqual({ code: 0, stdout: '', stderr: 'the account has no webhook\n' })
    const one = create()
    const other = create({ events: ['sync.failed', 'sync.completed'], active: false })
    const table = await run('webhooks', 'list')
    expect(table.stdout.split('\n')).toHaveLength(4)
    expect(table.stdout).toMatch(new RegExp(`^${one.id} +active +${APP} +contact.created$`, 'm'))
    expect(table.stdout).toMatch(new RegExp(`^${other.id} +paused +${APP} +sync.failed, sync.completed$`, 'm'))
    const { stdout } = await run('webhooks', 'list', '--json')
    expect(readLines(stdout).map(({ id }) => id)).toEqual(expect.arrayContaining([one.id, other.id]))
    expect(stdout + table.stdout).not.toContain(one.secret)
  })

  it('gets one, and reports if there is none', async () => {
    const { run, create } = await serve()
    const { id, secret } = create()
    const { code, stdout } = await run('webhooks', 'get', id)
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(new RegExp(`${id}[\\s\\S]*active[\\s\\S]*contact.created`)),
    ])
    const [json] = readLines((await run('webhooks', 'get', id, '--json')).stdout)
    expect(json).toMatchObject({ id, url: APP, active: true, events: ['contact.created'] })
    expect(JSON.stringify(json) + stdout).not.toContain(secret)
    expect(await run('webhooks', 'get', 'nobody')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('no such thing in this account'),
    })
  })

  it('creates one, with its secret in a new file that is read by its owner', async () => {
    const { run, crm } = await serve()
    const file = join(folder, 'crm.secret')
    const wanted = ['webhooks', 'create', '--url', APP, '--events', 'contact.*,sync.failed', '--secret-file', file]
    const { code, stdout, stderr } = await run(...wanted, '--description', 'of the shop')
    const [webhook] = crm.webhooks.list()
    expect(webhook).toMatchObject({ active: true, description: 'of the shop' })
    expect(webhook?.events).toEqual(['contact.created', 'contact.updated', 'contact.deleted', 'sync.failed'])
    expect([code, stdout]).toEqual([0, ''])
    expect(await readFile(file, 'utf8')).toBe(`${webhook?.secret}\n`)
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(stderr).not.toContain(webhook?.secret)

    expect(await run(...wanted)).toMatchObject({ code: 2, stderr: expect.stringContaining('is there already') })
    expect(crm.webhooks.list()).toHaveLength(1)
    expect(await readFile(file, 'utf8')).toBe(`${webhook?.secret}\n`)
  })

  it('creates one with its secret on standard output, and leaves it inactive on request', async () => {
    const { run, crm } = await serve()
    const wanted = ['webhooks', 'create', '--url', APP, '--events', 'contact.created']
    const plain = await run(...wanted)
    expect(plain.stdout).toBe(`${crm.webhooks.list()[0]?.secret}\n`)
    const { stdout, stderr } = await run(...wanted, '--json', '--inactive')
    const inactive = crm.webhooks.list().find(({ active }) => !active)
    expect(readLines(stdout)).toEqual([expect.objectContaining({ id: inactive?.id, secret: inactive?.secret })])
    expect(stderr).toContain(`postern webhooks resume ${inactive?.id}`)
    const file = join(folder, 'json.secret')
    const hidden = await run(...wanted, '--json', '--secret-file', file)
    expect(readLines(hidden.stdout)).toEqual([expect.objectContaining({ secretFile: file })])
    expect(hidden.stdout).not.toContain((await readFile(file, 'utf8')).trim())
  })

  it('leaves no file behind if nothing was registered', async () => {
    const { run } = await serveHandMade({ status: 422, body: { message: 'url has to be public' } })
    const file = join(folder, 'none.secret')
    const { code, stderr } = await run(
      'webhooks',
      'create',
      '--url',
      APP,
      '--events',
      'sync.failed',
      '--secret-file',
      file,
    )
    expect([code, stderr]).toEqual([1, expect.stringContaining('url has to be public')])
    await expect(stat(file)).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it.each<[string, Reply, RegExp]>([
    ['the connection is cut', (response) => response.socket?.destroy(), /not known if/],
    ['the answer is a page', { status: 200, body: '<html>' }, /there is no webhook with an id in it/],
  ])('advises how to proceed if it is unknown whether one was registered: %s', async (_what, reply, words) => {
    const { run, service } = await serveHandMade(reply)
    const { code, stdout, stderr } = await run('webhooks', 'create', '--url', APP, '--events', 'sync.failed')
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(/It may be registered, .*postern webhooks list/)
    expect(stderr).toMatch(words)
    expect(service.calls).toHaveLength(1)
  })

  it('prints the secret before anything else can fail', async () => {
    const service = await startWebhookService()
    onTestFinished(() => service.close())
    service.onAnswer = ({ method }) => (method === 'PUT' ? { status: 422 } : undefined)
    const { code, stdout, stderr } = await runCli(
      ['webhooks', 'create', '--url', APP, '--events', 'sync.failed', '--base-url', service.url],
      { env: ADA },
    )
    expect([code, stdout]).toEqual([1, 'whsec_1\n'])
    expect(stderr).toContain('it is still inactive. Once the cause is fixed: postern webhooks resume w1\n')
  })

  it('updates, pauses, resumes and deletes', async () => {
    const { run, crm, create } = await serve()
    const { id } = create()
    const url = 'https://app.example.test/new'
    expect((await run('webhooks', 'update', id, '--url', url, '--events', 'sync.failed')).code).toBe(0)
    expect(crm.webhooks.get(id)).toMatchObject({ url, events: ['sync.failed'], active: true })
    expect((await run('webhooks', 'pause', id)).stdout).toMatch(/state +paused/)
    expect(crm.webhooks.get(id).active).toBe(false)
    expect(readLines((await run('webhooks', 'resume', id, '--json')).stdout)).toMatchObject([{ id, active: true }])
    expect(crm.webhooks.get(id).active).toBe(true)
    expect(await run('webhooks', 'delete', id, '--yes')).toEqual({
      code: 0,
      stdout: '',
      stderr: `webhook ${id} is deleted\n`,
    })
    expect(crm.webhooks.list()).toEqual([])
    expect((await run('webhooks', 'delete', id, '--yes')).code).toBe(1)
  })

  it('deletes only the named webhook', async () => {
    const { crm, env, create } = await serve()
    const { id } = create()
    const args = ['webhooks', 'delete', id]
    const refused = await runCli(args, { env, hasKeys: false })
    const question = `Webhook ${id}, its log and its retries would be deleted.`
    expect(refused).toEqual({ code: 2, stdout: '', stderr: `postern: ${question} If this is intended, add --yes.\n` })
    const asked = startCli(args, { env })
    await asked.until(/\[y\/N]/)
    asked.press('\r')
    expect(await asked.exitCode).toBe(1)
    expect(crm.webhooks.list()).toHaveLength(1)
    const meant = startCli(args, { env })
    await meant.until(/\[y\/N]/)
    meant.press('Y')
    expect(await meant.exitCode).toBe(0)
    expect(crm.webhooks.list()).toEqual([])
  })

  it.each([
    ['a type typo', ['create', '--url', APP, '--events', 'contcat.created'], 'Did you mean contact.created?'],
    ['a wildcard', ['create', '--url', APP, '--events', '*'], '--any-type'],
    ['no URL', ['create', '--url', 'app', '--events', 'sync.failed'], 'absolute URL'],
    ['nothing to change', ['update', 'w1'], 'Give --url, --events or both'],
    ['an unknown command', ['lst'], 'Did you mean list?'],
    ['a password', ['list', '--password', 'x'], 'unknown option'],
    ['an id that is a path', ['get', '..'], 'id of a webhook'],
  ])('refuses %s', async (_what, args, words) => {
    const { run } = await serve()
    expect(await run('webhooks', ...args)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(words),
    })
  })
})

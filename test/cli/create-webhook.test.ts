import { readFile, stat } from 'node:fs/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Io } from '../../tools/cli/io.ts'
import { run as runProgram } from '../../tools/cli/run.ts'
import type { Reply } from '../client/support.ts'
import { startWebhookService } from '../client/webhook-service.ts'
import { useFolder } from './folder.ts'
import { readLines, runCli } from './run-cli.ts'
import { ADA, APP, serve, serveHandMade } from './serve.ts'
import { createTestIo } from './test-io.ts'

const folder = useFolder()

describe('postern webhooks create', () => {
  it('creates one, with its secret in a new file that is read by its owner', async () => {
    const { run, crm } = await serve()
    const file = folder.at('crm.secret')
    const wanted = ['webhooks', 'create', '--url', APP, '--events', 'contact.*,sync.failed', '--secret-file', file]
    const { code, stdout, stderr } = await run(...wanted, '--description', 'of the shop')
    const [webhook] = crm.webhooks.list()
    expect(webhook).toMatchObject({ active: true, description: 'of the shop' })
    expect(webhook?.events).toEqual(['contact.created', 'contact.updated', 'contact.deleted', 'sync.failed'])
    expect([code, stdout]).toEqual([0, ''])
    expect(stderr).toBe(
      `webhook ${webhook?.id} is registered; its secret is in ${file}, and is not shown again\nit is active\n`,
    )
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
    expect(plain.stderr).toContain('its secret is on standard output, and is not shown again\n')
    const { stdout, stderr } = await run(...wanted, '--json', '--inactive')
    const inactive = crm.webhooks.list().find(({ active }) => !active)
    expect(readLines(stdout)).toEqual([expect.objectContaining({ id: inactive?.id, secret: inactive?.secret })])
    expect(stderr).toContain(`npx postern webhooks resume ${inactive?.id}`)
    const file = folder.at('json.secret')
    const hidden = await run(...wanted, '--json', '--secret-file', file)
    expect(readLines(hidden.stdout)).toEqual([expect.objectContaining({ secretFile: file })])
    expect(hidden.stdout).not.toContain((await readFile(file, 'utf8')).trim())
  })

  it('leaves no file behind if nothing was registered', async () => {
    const { run } = await serveHandMade({ status: 422, body: { message: 'url has to be public' } })
    const file = folder.at('none.secret')
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
    expect(stderr).not.toContain('It may be registered')
    await expect(stat(file)).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it.each<[string, Reply, RegExp]>([
    ['the connection is cut', (response) => response.socket?.destroy(), /not known if/],
    ['the answer is a page', { status: 200, body: '<html>' }, /there is no webhook with an id in it/],
  ])('advises how to proceed if it is unknown whether one was registered: %s', async (_what, reply, words) => {
    const { run, service } = await serveHandMade(reply)
    const { code, stdout, stderr } = await run('webhooks', 'create', '--url', APP, '--events', 'sync.failed')
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(/It may be registered, .*npx postern webhooks list/)
    expect(stderr).toMatch(words)
    expect(service.calls).toHaveLength(1)
  })

  it('prints the secret before anything else can fail', async () => {
    const service = await startWebhookService()
    onTestFinished(() => service.close())
    service.onAnswer = ({ method }) => (method === 'PUT' ? { status: 422 } : undefined)
    const line = `webhooks create --url ${APP} --events sync.failed --base-url ${service.url}`
    const { code, stdout, stderr } = await runCli(line, { env: ADA })
    expect([code, stdout]).toEqual([1, 'whsec_1\n'])
    expect(stderr).toContain(`Once the cause is fixed: npx postern webhooks resume w1 --base-url ${service.url}\n`)
  })

  it('knows that nothing was registered if the login failed', async () => {
    const { run } = await serveHandMade({ status: 500 }, { status: 200, body: '<html>' })
    const { code, stderr } = await run('webhooks', 'create', '--url', APP, '--events', 'sync.failed')
    expect(code).toBe(1)
    expect(stderr).not.toContain('It may be registered')
  })

  it.each([
    [true, 'is deleted again'],
    [false, 'is of no use: delete it'],
  ])('deletes a webhook whose secret cannot be written, if it can: %s', async (canDelete, words) => {
    const service = await startWebhookService()
    onTestFinished(() => service.close())
    service.onAnswer = ({ method }) => (method === 'DELETE' && !canDelete ? { status: 500 } : undefined)
    const stdout: Io['stdout'] = { write: (_text, callback) => callback?.(new Error('no space left')) }
    const { io, written } = createTestIo({ env: { ...ADA, POSTERN_BASE_URL: service.url } })
    const args = ['webhooks', 'create', '--url', APP, '--events', 'sync.failed', '--retries', '0']
    const code = await runProgram(args, { ...io, stdout })
    const message = `standard output cannot be written: no space left. Webhook w1 ${words}.`
    expect([code, written.stderr]).toEqual([1, `postern: ${message}\n`])
  })
})

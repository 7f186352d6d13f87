import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { makeTestFolder } from '../support/test-folder.ts'
import { recordDeliveries } from './recording-server.ts'
import { readLines, runCli } from './run-cli.ts'
import { APP, serve } from './serve.ts'

let folder: string
beforeEach(() => {
  folder = makeTestFolder()
})
const inFolder = (name: string) => join(folder, name)
const read = (name: string) => readFile(inFolder(name), 'utf8')

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
})

describe('postern webhooks rotate', () => {
  it('ends with one webhook and its secret, if five run at the same time', async () => {
    const { crm, run, create } = await serve()
    const { id } = create()
    const args = ['webhooks', 'rotate', id, '--secret-file', inFolder('next.secret'), '--overlap', '10ms']
    const all = await Promise.all(Array.from({ length: 5 }, () => run(...args)))
    expect(all.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0])
    const [webhook, ...more] = crm.webhooks.list()
    expect(more).toEqual([])
    expect(await read('next.secret')).toBe(`${webhook?.secret}\n`)
    expect(await read('next.secret.webhook')).toBe(`${webhook?.id}\n`)
  })

  it('replaces the old webhook with a new one that has a new secret', async () => {
    const { received, url } = await recordDeliveries()
    const { crm, run } = await serve()
    const old = crm.webhooks.create({ url, events: ['contact.created'], description: 'mine' })
    const place = ['--secret-file', inFolder('next.secret'), '--overlap', '10ms']
    const { code, stdout, stderr } = await run('webhooks', 'rotate', old.id, ...place, '--json')
    expect(code, stderr).toBe(0)
    const [webhook, ...more] = crm.webhooks.list()
    expect(more).toEqual([])
    expect(webhook).toMatchObject({ url, events: ['contact.created'], active: true })
    expect(webhook?.id).not.toBe(old.id)
    expect(await read('next.secret')).toBe(`${webhook?.secret}\n`)
    expect(readLines(stdout)).toMatchObject([
      { state: 'finished', webhook: { id: webhook?.id }, pending: 0, failed: 0 },
    ])
    expect(stdout + stderr).not.toContain(webhook?.secret)
    expect(stderr).toContain(`webhook ${old.id} is deleted; ${webhook?.id} is in its place`)
    crm.events.emit({ type: 'contact.created' })
    await crm.deliveries.whenIdle()
    expect(received).toHaveLength(1)
    // Run again, it finds its work done.
    expect((await run('webhooks', 'rotate', old.id, ...place)).code).toBe(0)
    expect(crm.webhooks.list()).toHaveLength(1)
  })

  it('exits 5 while a delivery is pending, continues later, and exits 1 for failures', async () => {
    const { crm, run } = await serve({ deadline: '1s' })
    let isDown = true
    const { url } = await recordDeliveries(() => (isDown ? 500 : 200))
    const old = crm.webhooks.create({ url, events: ['contact.created'] })
    crm.events.emit({ type: 'contact.created' })
    await expect.poll(() => crm.deliveries.list()[0]?.attempts.length).toBe(1)
    const args = ['webhooks', 'rotate', old.id, '--to-env', inFolder('.env'), '--overlap', '1ms', '--wait', '1ms']
    const waiting = await run(...args)
    expect([waiting.code, waiting.stdout]).toEqual([5, ''])
    expect(waiting.stderr).toMatch(
      /both webhooks deliver: 1 pending, 0 failed, 0 held back only in that of .*\nRun the same command again/,
    )
    const secret = await read('.env')
    expect(crm.webhooks.list()).toHaveLength(2)
    await crm.clock.advance('3h')
    const failed = await run(...args, '--json')
    expect(failed.code).toBe(1)
    expect(readLines(failed.stdout)).toMatchObject([{ state: 'waiting', pending: 0, failed: 1 }])
    expect(failed.stderr).toContain('--give-up-failed')
    isDown = false
    expect((await run(...args)).code).toBe(0)
    expect(crm.webhooks.list()).toHaveLength(1)
    expect(await read('.env')).toBe(secret)
  })

  it('deletes failures if the option asks for it', async () => {
    const { crm, run } = await serve()
    const { url } = await recordDeliveries(() => 500)
    const old = crm.webhooks.create({ url, events: ['contact.created'] })
    crm.events.emit({ type: 'contact.created' })
    await crm.clock.advance('3h')
    const args = ['--secret-file', inFolder('x'), '--overlap', '1ms', '--give-up-failed']
    expect((await run('webhooks', 'rotate', old.id, ...args)).code).toBe(0)
    expect(crm.webhooks.list()).toHaveLength(1)
  })

  it('refuses the path of the old secret, and an unknown webhook', async () => {
    const { crm, run } = await serve()
    const place = ['--secret-file', inFolder('crm.secret')]
    await run('webhooks', 'ensure', '--url', APP, '--events', 'sync.failed', ...place)
    const [webhook] = crm.webhooks.list()
    const same = await run('webhooks', 'rotate', `${webhook?.id}`, ...place, '--json')
    expect(same.code).toBe(2)
    expect(readLines(same.stdout)).toMatchObject([
      { error: { code: 'usage', fix: expect.stringContaining('another') } },
    ])
    const unknown = await run('webhooks', 'rotate', 'nothing', '--secret-file', inFolder('new.secret'), '--json')
    expect(unknown.code).toBe(1)
    expect(readLines(unknown.stdout)).toMatchObject([{ error: { code: 'not_found' } }])
    expect(crm.webhooks.list()).toHaveLength(1)
  })

  it('ends with 130 at Ctrl-C, and the next run continues', async () => {
    const { crm, env, run, create } = await serve()
    const { id } = create()
    const stop = new AbortController()
    crm.subscribe((message) => {
      if (message.type === 'webhook' && message.change === 'updated') stop.abort()
    })
    const args = ['webhooks', 'rotate', id, '--secret-file', inFolder('next.secret'), '--overlap', '5s']
    expect(await runCli(args, { env, interrupt: stop.signal })).toMatchObject({ code: 130, stdout: '' })
    expect(crm.webhooks.list()).toHaveLength(2)
    const secret = await read('next.secret')
    expect((await run(...args.slice(0, -2), '--overlap', '1ms')).code).toBe(0)
    expect(crm.webhooks.list()).toMatchObject([{ secret: secret.trim() }])
  })
})

import { describe, expect, it, onTestFinished } from 'vitest'
import { startService } from '../client/support.ts'
import { ended, readLines, runCli, startCli } from './run-cli.ts'
import { ADA, APP, serve, serveHandMade } from './serve.ts'

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
    expect([code, stdout]).toEqual([0, expect.stringMatching(new RegExp(`${id}.*active.*contact.created`, 's'))])
    const [json] = readLines((await run('webhooks', 'get', id, '--json')).stdout)
    expect(json).toMatchObject({ id, url: APP, active: true, events: ['contact.created'] })
    expect(JSON.stringify(json) + stdout).not.toContain(secret)
    expect(await run('webhooks get nobody')).toEqual(ended(1, 'no such thing in this account'))
  })

  it('shows what the service tells of each, and dashes for the rest', async () => {
    const full = { _id: 'w1', url: APP, events: ['a.created', 'b.created'], active: true }
    const listing = await serveHandMade({ body: [full, { _id: 'w2' }, { _id: 'w3', active: false }] })
    expect((await listing.run('webhooks', 'list')).stdout).toBe(
      [
        'WEBHOOK  STATE   URL                             EVENTS',
        `w1       active  ${APP}  a.created, b.created`,
        'w2       -       -                               -',
        'w3       paused  -                               -',
        '',
      ].join('\n'),
    )
    const empty = await serveHandMade({ body: { _id: 'w2' } })
    expect((await empty.run('webhooks', 'get', 'w2')).stdout).toMatch(/^webhook +w2\n(\w+ +-\n){5}$/)
  })

  it.each([['list'], ['create', '--url', APP, '--events', 'sync.failed']])('is left at Ctrl-C: %s', async (...args) => {
    const service = await startService(() => () => running.interrupt())
    onTestFinished(() => service.close())
    const running = startCli(['webhooks', ...args], { env: { ...ADA, POSTERN_BASE_URL: service.url } })
    expect(await running.exitCode, running.stderr).toBe(130)
    expect(running.stderr.includes('It may be registered')).toBe(args[0] === 'create')
  })

  it('updates, pauses, resumes and deletes', async () => {
    const { run, crm, create } = await serve()
    const { id } = create()
    const url = 'https://app.example.test/new'
    expect((await run('webhooks', 'update', id, '--url', url, '--events', 'sync.failed')).code).toBe(0)
    expect(crm.webhooks.get(id)).toMatchObject({ url, events: ['sync.failed'], active: true })
    expect((await run('webhooks', 'update', id, '--url', APP)).code).toBe(0)
    expect(crm.webhooks.get(id)).toMatchObject({ url: APP, events: ['sync.failed'] })
    expect((await run('webhooks', 'update', id, '--events', 'contcat.*')).code).toBe(2)
    expect((await run('webhooks', 'update', id, '--events', 'contcat.*', '--any-type')).code).toBe(0)
    expect(crm.webhooks.get(id)).toMatchObject({ url: APP, events: { length: 3 } })
    expect((await run('webhooks', 'pause', id)).stdout).toMatch(/state +paused/)
    expect(crm.webhooks.get(id).active).toBe(false)
    expect(readLines((await run('webhooks', 'resume', id, '--json')).stdout)).toMatchObject([{ id, active: true }])
    expect(crm.webhooks.get(id).active).toBe(true)
    expect(await run('webhooks', 'delete', id, '--yes')).toEqual(ended(0, `webhook ${id} is deleted\n`))
    expect(crm.webhooks.list()).toEqual([])
    expect((await run('webhooks', 'delete', id, '--yes')).code).toBe(1)
    const { id: other } = create()
    const deleted = await run('webhooks', 'delete', other, '--yes', '--json')
    expect(readLines(deleted.stdout)).toEqual([{ id: other, isDeleted: true }])
  })

  it('deletes only the named webhook', async () => {
    const { crm, env, create } = await serve()
    const { id } = create()
    const args = ['webhooks', 'delete', id]
    const refused = await runCli(args, { env, hasKeys: false })
    const question = `Webhook ${id}, its log and its retries would be deleted.`
    expect(refused).toEqual(ended(2, `postern: ${question} If this is intended, add --yes.\n`))
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
    ['nothing to change', ['update', 'w1'], 'Give --url, --events or both'],
    ['an unknown command', ['lst'], 'Did you mean list?'],
    ['a password', ['list', '--password', 'x'], 'unknown option'],
    ['an id that is a path', ['get', '..'], 'id of a webhook'],
  ])('refuses %s', async (_what, args, words) => {
    const { run } = await serve()
    expect(await run('webhooks', ...args)).toEqual(ended(2, words))
  })
})

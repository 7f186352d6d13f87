import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { makeTestFolder } from '../support/test-folder.ts'
import { recordDeliveries } from './recording-server.ts'
import { readLines } from './run-cli.ts'
import { APP, serve, serveHandMade } from './serve.ts'

let place: readonly string[]
let secretFile: string
beforeEach(() => {
  secretFile = join(makeTestFolder(), 'crm.secret')
  place = ['--secret-file', secretFile]
})

describe('postern webhooks ensure', () => {
  const ensure = ['webhooks', 'ensure', '--url', APP, '--events']

  it('describes a new webhook by --description, and tells people the place of its secret', async () => {
    const { crm, run } = await serve()
    const { code, stdout, stderr } = await run(...ensure, 'contact.*', ...place, '--description', 'the app of Ada')
    expect([code, stdout]).toEqual([0, ''])
    const [webhook] = crm.webhooks.list()
    expect(webhook?.description).toContain('the app of Ada')
    expect(stderr).toBe(`webhook ${webhook?.id} is registered and active; its secret is in ${secretFile}\n`)
  })

  it('takes types that the service does not name only with --any-type', async () => {
    const { crm, run } = await serve()
    expect((await run(...ensure, 'moon.risen', ...place)).code).toBe(2)
    expect((await run(...ensure, 'moon.risen', ...place, '--any-type')).code).toBe(0)
    expect(crm.webhooks.list()).toMatchObject([{ events: ['moon.risen'] }])
  })

  it('prints for programs what the service says of the webhook, which webhooks were deleted, and the place of the secret', async () => {
    const { crm, run, create } = await serve()
    const lost = create()
    const { stdout } = await run(...ensure, 'contact.created', ...place, '--replace-active', '--json')
    const [webhook] = crm.webhooks.list()
    expect(readLines(stdout)).toEqual([
      {
        ...{ id: webhook?.id, url: APP, events: ['contact.created'], active: true, description: expect.any(String) },
        ...{ createdAt: expect.any(String), isNew: true, deleted: [lost.id], secretIn: secretFile },
      },
    ])
  })
})

describe('postern webhooks rotate', () => {
  it('moves the webhook to the address of --url', async () => {
    const { crm, run, create } = await serve()
    const { id } = create()
    const url = 'https://new.example.test/hooks'
    expect((await run('webhooks', 'rotate', id, ...place, '--overlap', '1ms', '--url', url)).code).toBe(0)
    expect(crm.webhooks.list()).toMatchObject([{ url, events: ['contact.created'], active: true }])
  })

  it('keeps the address of the old webhook, and does not wait for a paused one', async () => {
    const { crm, run, create } = await serve()
    const other = create({ url: 'https://other.example.test/' })
    const { id } = create({ active: false })
    expect(await run('webhooks', 'rotate', id, ...place)).toMatchObject({ code: 0 })
    expect(crm.webhooks.list()).toMatchObject([{ id: other.id }, { url: APP, active: false }])
  })

  it('reads the address of the old webhook from its own entry if the list has none', async () => {
    const untold = { _id: 'w1', active: true, events: ['contact.created'] }
    const { run, service } = await serveHandMade((response) => {
      const { method, url } = response.req
      response.writeHead(method === 'GET' ? 200 : 422, { 'content-type': 'application/json' })
      response.end(JSON.stringify(url?.endsWith('/w1') ? { ...untold, url: APP } : [untold]))
    })
    expect((await run('webhooks', 'rotate', 'w1', ...place)).code).toBe(1)
    expect(
      service.seen.filter(({ body }) => body.includes('events')).map(({ body }) => JSON.parse(body)),
    ).toMatchObject([{ url: APP }])
  })

  it('needs --url if the service does not return the address of the old webhook', async () => {
    const untold = { _id: 'w1', active: true, events: ['contact.created'] }
    const { run, service } = await serveHandMade({ body: { ...untold, webhooks: [untold] } })
    const { code, stderr } = await run('webhooks', 'rotate', 'w1', ...place)
    expect([code, stderr]).toEqual([2, expect.stringContaining('Give --url.')])
    expect(service.calls.filter((call) => !call.startsWith('GET '))).toEqual([])
  })

  it('tells once that both deliver, and each change of what is pending once', async () => {
    const { crm, run } = await serve({ deadline: '1s' })
    const { url } = await recordDeliveries(() => 500)
    const old = crm.webhooks.create({ url, events: ['contact.created'] })
    crm.events.emit({ type: 'contact.created' })
    await crm.deliveries.whenIdle()
    const result = await run('webhooks', 'rotate', old.id, ...place, '--overlap', '1ms', '--wait', '100ms', '--json')
    const webhook = crm.webhooks.list().find(({ id }) => id !== old.id)
    expect(result.code).toBe(5)
    expect(
      result.stderr,
    ).toBe(`webhook ${webhook?.id} takes its place; its secret is in ${secretFile}: your receiver needs both
both deliver for at least 1 ms, and then until nothing is pending, for up to 100 ms
1 pending and 0 failed only in the old webhook's log
both webhooks deliver: 1 pending, 0 failed, 0 held back only in that of ${old.id}
Run the same command again to continue.
`)
    expect(await readFile(secretFile, 'utf8')).toBe(`${webhook?.secret}\n`)
    expect(readLines(result.stdout)).toEqual([
      {
        ...{ state: 'waiting', webhook: expect.objectContaining({ id: webhook?.id, url, active: true }) },
        ...{ pending: 1, failed: 0, held: 0, secretIn: secretFile },
      },
    ])
    expect(readLines(result.stdout)[0]?.webhook).not.toHaveProperty('raw')
  })
})

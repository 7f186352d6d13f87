import { verify } from 'postern'
import type { Emulator } from 'postern/emulator'
import { beforeEach, describe, expect, it } from 'vitest'
import { useFolder } from './folder.ts'
import { recordDeliveries } from './recording-server.ts'
import { ended, readLines, runCli } from './run-cli.ts'
import { APP, serve, serveHandMade } from './serve.ts'

const folder = useFolder()
let place: readonly string[]
let secretFile: string
beforeEach(() => {
  secretFile = folder.at('crm.secret')
  place = ['--secret-file', secretFile]
})

/** A receiver, and an event for it as soon as a rotation has activated the new webhook. */
async function receive(crm: Emulator, ...answer: Parameters<typeof recordDeliveries>) {
  crm.subscribe((message) => {
    if (message.type === 'webhook' && message.change === 'updated') crm.events.emit({ type: 'contact.created' })
  })
  return recordDeliveries(...answer)
}

describe('postern webhooks rotate', () => {
  it('replaces the old webhook with a new one that has a new secret', async () => {
    const { crm, run } = await serve()
    const { received, url } = await receive(crm)
    const old = crm.webhooks.create({ url, events: ['contact.created'], description: 'mine' })
    const place = ['--secret-file', folder.at('next.secret'), '--overlap', '10ms']
    const { code, stdout, stderr } = await run('webhooks', 'rotate', old.id, ...place, '--json')
    expect(code, stderr).toBe(0)
    const [webhook, ...more] = crm.webhooks.list()
    expect(more).toEqual([])
    expect(webhook).toMatchObject({ url, events: ['contact.created'], active: true })
    expect(webhook?.id).not.toBe(old.id)
    expect(await folder.read('next.secret')).toBe(`${webhook?.secret}\n`)
    const finished = { state: 'finished', webhook: { id: webhook?.id }, pending: 0, failed: 0, isProven: true }
    expect(readLines(stdout)).toMatchObject([finished])
    expect(stdout + stderr).not.toContain(webhook?.secret)
    expect(stderr).toContain(`webhook ${old.id} is deleted; ${webhook?.id} is in its place`)
    await crm.deliveries.whenIdle()
    received.length = 0
    crm.events.emit({ type: 'contact.created' })
    await crm.deliveries.whenIdle()
    expect(received).toHaveLength(1)
    // Run again, it finds its work done.
    expect((await run('webhooks', 'rotate', old.id, ...place)).code).toBe(0)
    expect(crm.webhooks.list()).toHaveLength(1)
  })

  it('exits 5 while the receiver refuses the new secret, and deletes the old webhook after it was reloaded', async () => {
    const { crm, run } = await serve()
    const loaded = ['of the old webhook']
    const { url } = await receive(crm, ({ body, headers }) =>
      verify(body, `${headers['x-service-signature']}`, loaded) ? 200 : 401,
    )
    const old = crm.webhooks.create({ url, events: ['contact.created'] }, { secret: 'of the old webhook' })
    const args = ['webhooks', 'rotate', old.id, ...place, '--overlap', '1ms', '--wait', '50ms']
    const told = `has succeeded yet (1 tried). Has your receiver loaded the secret in ${secretFile}?
Run the same command again to continue.
`
    const { code, stderr } = await run(...args)
    expect([code, stderr]).toEqual([5, expect.stringContaining(told)])
    const record = { state: 'waiting', isProven: false, unsuccessful: 1, pending: 0, failed: 0 }
    expect(readLines((await run(...args, '--json')).stdout)).toMatchObject([record])
    expect(crm.webhooks.list()).toMatchObject([{ id: old.id, active: true }, { active: true }])
    loaded.push((await folder.read('crm.secret')).trim())
    await crm.clock.advance('30s')
    expect((await run(...args)).code).toBe(0)
    expect(crm.webhooks.list()).toHaveLength(1)
  })

  it('exits 5 while a delivery is pending, continues later, and exits 1 for failures', async () => {
    const { crm, run } = await serve({ deadline: '1s' })
    let isDown = true
    const { url } = await recordDeliveries(() => (isDown ? 500 : 200))
    const old = crm.webhooks.create({ url, events: ['contact.created'] })
    crm.events.emit({ type: 'contact.created' })
    await expect.poll(() => crm.deliveries.list()[0]?.attempts.length).toBe(1)
    const args = ['webhooks', 'rotate', old.id, '--to-env', folder.at('.env'), '--overlap', '1ms', '--wait', '1ms']
    const waiting = await run(...args)
    const told =
      /both webhooks deliver: 1 pending, 0 failed, 0 held back only in that of .*\n.*\nRun the same command again/
    expect(waiting).toEqual(ended(5, told))
    const secret = await folder.read('.env')
    expect(crm.webhooks.list()).toHaveLength(2)
    await crm.clock.advance('3h')
    const failed = await run(...args, '--json')
    expect(failed.code).toBe(1)
    expect(readLines(failed.stdout)).toMatchObject([{ state: 'waiting', pending: 0, failed: 1 }])
    expect(failed.stderr).toContain('--give-up-failed')
    isDown = false
    crm.events.emit({ type: 'contact.created' })
    await crm.deliveries.whenIdle()
    expect((await run(...args)).code).toBe(0)
    expect(crm.webhooks.list()).toHaveLength(1)
    expect(await folder.read('.env')).toBe(secret)
  })

  it('deletes failures if the option asks for it', async () => {
    const { crm, run } = await serve()
    let lost = ''
    const { url } = await receive(crm, ({ event }) => (event.id === lost ? 500 : 200))
    const old = crm.webhooks.create({ url, events: ['contact.created'] })
    lost = crm.events.emit({ type: 'contact.created' }).id
    await crm.clock.advance('3h')
    const args = ['--secret-file', folder.at('x'), '--overlap', '1ms', '--give-up-failed']
    expect((await run('webhooks', 'rotate', old.id, ...args)).code).toBe(0)
    expect(crm.webhooks.list()).toHaveLength(1)
  })

  it('refuses the path of the old secret, and an unknown webhook', async () => {
    const { crm, run } = await serve()
    await run('webhooks', 'ensure', '--url', APP, '--events', 'sync.failed', ...place)
    const [webhook] = crm.webhooks.list()
    const same = await run('webhooks', 'rotate', `${webhook?.id}`, ...place, '--json')
    expect(same.code).toBe(2)
    expect(readLines(same.stdout)).toMatchObject([
      { error: { code: 'usage', fix: expect.stringContaining('another') } },
    ])
    const unknown = await run(`webhooks rotate nothing --secret-file ${folder.at('new.secret')} --json`)
    expect(unknown.code).toBe(1)
    expect(readLines(unknown.stdout)).toMatchObject([{ error: { code: 'not_found' } }])
    expect(crm.webhooks.list()).toHaveLength(1)
  })

  it('refuses another place while a first successor is active, and continues with the place of the first run', async () => {
    const { crm, run } = await serve()
    const { url } = await recordDeliveries()
    const old = crm.webhooks.create({ url, events: ['contact.created'] })
    const rotate = (file: string) =>
      run('webhooks', 'rotate', old.id, '--secret-file', folder.at(file), '--overlap', '0s', '--wait', '0s')
    expect((await rotate('2026-11-27.secret')).code).toBe(5)
    const [next] = crm.webhooks.list().filter(({ id }) => id !== old.id)
    const refused = await rotate('2026-11-28.secret')
    expect(refused).toEqual(ended(1, `Webhook ${next?.id} is active and already replaces ${old.id}`))
    expect(refused.stderr).toContain(`If that secret is lost: npx postern webhooks delete ${next?.id}`)
    expect(crm.webhooks.list()).toHaveLength(2)
    expect((await rotate('2026-11-27.secret')).code).toBe(5)
  })

  it('ends with 130 at Ctrl-C, and the next run continues', async () => {
    const { crm, env, run, create } = await serve()
    const { id } = create({ url: (await receive(crm)).url })
    const stop = new AbortController()
    crm.subscribe((message) => {
      if (message.type === 'webhook' && message.change === 'updated') stop.abort()
    })
    const args = ['webhooks', 'rotate', id, '--secret-file', folder.at('next.secret'), '--overlap', '5s']
    expect(await runCli(args, { env, interrupt: stop.signal })).toMatchObject({ code: 130, stdout: '' })
    expect(crm.webhooks.list()).toHaveLength(2)
    const secret = await folder.read('next.secret')
    expect((await run(...args.slice(0, -2), '--overlap', '1ms')).code).toBe(0)
    expect(crm.webhooks.list()).toMatchObject([{ secret: secret.trim() }])
  })

  it('moves the webhook to the address of --url', async () => {
    const { crm, run, create } = await serve()
    const { id } = create()
    const { url } = await receive(crm)
    expect((await run('webhooks', 'rotate', id, ...place, '--overlap', '1ms', '--url', url)).code).toBe(0)
    expect(crm.webhooks.list()).toMatchObject([{ url, events: ['contact.created'], active: true }])
  })

  it('needs --url if the service does not return the address of the old webhook', async () => {
    const untold = { _id: 'w1', active: true, events: ['contact.created'] }
    const { run, service } = await serveHandMade({ body: { ...untold, webhooks: [untold] } })
    expect(await run('webhooks', 'rotate', 'w1', ...place)).toEqual(
      ended(2, 'does not return the url of webhook w1, so it cannot be copied: give one.'),
    )
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
    const told = `webhook ${webhook?.id} takes its place; its secret is in ${secretFile}: your receiver needs both
both deliver for at least 1 ms, then until ${webhook?.id} has succeeded once and nothing is pending, for up to 100 ms
1 pending and 0 failed only in the old webhook's log; no delivery of webhook ${webhook?.id} has succeeded yet (0 tried)
both webhooks deliver: 1 pending, 0 failed, 0 held back only in that of ${old.id}
no delivery of webhook ${webhook?.id} has succeeded yet (0 tried). Has your receiver loaded the secret in ${secretFile}?
Run the same command again to continue.
`
    expect(result.stderr).toBe(told)
    const [record] = readLines(result.stdout)
    expect(record).toMatchObject({ state: 'waiting', webhook: { id: webhook?.id, url, active: true }, held: 0 })
    expect(record).toMatchObject({ pending: 1, failed: 0, secretIn: secretFile })
    expect(record?.webhook).not.toHaveProperty('raw')
  })
})

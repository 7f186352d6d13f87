import { describe, expect, it } from 'vitest'
import { findFreePort } from '../support/programs.ts'
import { recordDeliveries } from './recording-server.ts'
import { ended, readLines, startCli } from './run-cli.ts'
import { APP, serve, serveHandMade } from './serve.ts'

describe('postern deliveries list', () => {
  async function serveLog() {
    const scene = await serve({ retryScale: 1 })
    const port = await findFreePort()
    const { id } = scene.create({ url: `http://127.0.0.1:${port}/`, events: ['contact.created', 'sync.failed'] })
    const old = scene.crm.events.emit({ type: 'contact.created' })
    await scene.crm.clock.advance('3h')
    const young = scene.crm.events.emit({ type: 'sync.failed', data: {} })
    return { ...scene, id, old: old.id, young: young.id }
  }

  it('shows the log, by state and type', async () => {
    const { run, id, old, young } = await serveLog()
    const { stdout } = await run('deliveries', 'list', id)
    expect(stdout).toMatch(new RegExp(`^\\w+ +\\d{4}\\S+Z +contact.created +${old} +failed +5 +\\S`, 'm'))
    expect(stdout).toMatch(new RegExp(`sync.failed +${young} +pending`))
    const idsOf = async (...args: string[]) =>
      readLines((await run('deliveries', 'list', id, '--json', ...args)).stdout).map(({ eventId }) => eventId)
    expect((await idsOf()).toSorted()).toEqual([old, young].toSorted())
    expect(await idsOf('--failed')).toEqual([old])
    expect(await idsOf('--type', 'sync.*')).toEqual([young])
    expect(await idsOf('--type', '*.created,*.deleted')).toEqual([old])
    const none = `deliveries list ${id} --type contact.deleted`
    expect(await run(none)).toEqual(ended(0, /^the log has no such delivery\n$/))
    expect(await run(`${none} --json`)).toEqual(ended(0, /^$/))
  })

  it('names the webhooks of the account if it is not told which one', async () => {
    const { run, create } = await serve()
    expect(await run('deliveries list')).toEqual(ended(2, 'The account has no webhook, and so no deliveries.'))
    const [one, other] = [create(), create({ url: 'https://other.example.test/' })]
    const names = `  ${one.id}  ${APP}\n  ${other.id}  https://other.example.test/\n`
    expect(await run('deliveries list')).toEqual(ended(2, `Name one of the webhooks of the account:\n${names}`))
  })

  it('keeps a delivery whose time the service does not tell, and one of exactly the time', async () => {
    const [early, since] = ['2025-01-31T11:59:59.999Z', '2025-01-31T12:00:00.000Z']
    const log = [{ _id: 'untimed' }, { _id: 'exact', createdAt: since }, { _id: 'early', createdAt: early }]
    const { run } = await serveHandMade({ body: log.map((each) => ({ ...each, status: 'failed' })) })
    const { stdout } = await run('deliveries', 'list', 'w1', '--since', since, '--json')
    expect(readLines(stdout).map(({ id }) => id)).toEqual(['untimed', 'exact'])
  })

  it('prints a table of what is new or has changed, and nothing while nothing has', async () => {
    const { env, id, old } = await serveLog()
    const following = startCli(['deliveries', 'list', id, '--follow', '--type', 'contact.*'], { env })
    await following.until(new RegExp(`^DELIVERY .*\\n.* ${old} `, 'm'))
    following.interrupt()
    expect(await following.exitCode).toBe(130)
    expect(following.stdout).toMatch(/^DELIVERY/)
    expect(following.stdout.match(/^(DELIVERY|\w+ +\d{4}-)/gm)).toHaveLength(2)
    const none = startCli(['deliveries', 'list', id, '--follow', '--type', 'contact.deleted', '--json'], { env })
    await none.until(/"ready"/)
    none.interrupt()
    expect(await none.exitCode).toBe(130)
    expect([readLines(none.stdout), none.stderr]).toEqual([[{ type: 'ready', webhookId: id }], ''])
  })

  it('continues with new deliveries, until Ctrl-C', async () => {
    const { crm, env, id, old, young } = await serveLog()
    const following = startCli(['deliveries', 'list', id, '--follow', '--json', '--failed'], { env })
    await following.until(/"state":"failed"/)
    expect(following.stdout).not.toContain(young)
    await crm.clock.advance('3h')
    await following.until(new RegExp(young))
    following.interrupt()
    expect(await following.exitCode).toBe(130)
    expect(readLines(following.stdout).map(({ type, eventId }) => type ?? eventId)).toEqual(['ready', old, young])
  })
})

describe('postern deliveries resend', () => {
  /** Makes a delivery that has failed for good, to an app that is back. */
  async function serveFailure(answer: () => number = () => 200) {
    const scene = await serve()
    const { received, url } = await recordDeliveries(answer)
    scene.create({ url: 'http://127.0.0.1:9/' })
    const { id } = scene.create({ url: `http://127.0.0.1:${await findFreePort()}/` })
    scene.crm.events.emit({ type: 'contact.created' })
    await scene.crm.clock.advance('3h')
    scene.crm.webhooks.update(id, { url })
    const delivery = scene.crm.deliveries.list({ webhookId: id })[0]?.id ?? ''
    const resend = (...args: string[]) => scene.run('deliveries', 'resend', ...args)
    return { ...scene, received, id, delivery, resend }
  }

  it('finds the delivery, makes another attempt and prints its result', async () => {
    const { resend, received, delivery } = await serveFailure()
    const { code, stdout, stderr } = await resend(delivery)
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(new RegExp(`^OUTCOME .*\\nsucceeded +${delivery} .* succeeded +6 +200\\n$`))
    expect(received).toHaveLength(1)
    const again = await resend(delivery, '--json')
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('no failed delivery') })
    expect(readLines(again.stdout)).toMatchObject([{ error: { code: 'failed' } }])
  })

  it('exits 1 if it fails again, and uses the webhook as a hint', async () => {
    const { resend, id, delivery } = await serveFailure(() => 500)
    const { code, stdout } = await resend(delivery, '--webhook', id, '--json')
    expect(code).toBe(1)
    expect(readLines(stdout)).toMatchObject([{ outcome: 'failed', id: delivery, attempts: 6, responseStatus: 500 }])
  })

  it('exits 5, with the reason, if a paused webhook holds it back', async () => {
    const { crm, resend, id, delivery } = await serveFailure()
    crm.webhooks.pause(id)
    const { code, stdout, stderr } = await resend(delivery, '--timeout', '1ms')
    expect([code, stdout]).toEqual([5, expect.stringMatching(/^OUTCOME .*\nunresolved /)])
    expect(stderr).toBe(`webhook ${id} is paused, and holds back what is retried: npx postern webhooks resume ${id}\n`)
  })

  it('leaves an event alone that another delivery has brought', async () => {
    const { crm, resend, delivery, received } = await serveFailure()
    crm.deliveries.resend(delivery)
    await crm.deliveries.whenIdle()
    expect(await resend(delivery)).toEqual(ended(1, 'was acknowledged'))
    expect(received).toHaveLength(1)
  })

  it('leaves an event alone whose other delivery is under way', async () => {
    const { crm, resend, delivery } = await serveFailure(() => 500)
    const { eventId } = crm.deliveries.list().find(({ id }) => id === delivery) ?? {}
    crm.events.emit({ type: 'contact.created', id: eventId })
    await crm.deliveries.whenIdle()
    expect(await resend(delivery)).toEqual(ended(1, 'is under way.'))
  })

  it('refuses an unknown delivery', async () => {
    const { resend, id } = await serveFailure()
    expect(await resend('nothing')).toEqual(ended(1, 'has a delivery nothing'))
    for (const webhook of [id, 'nothing']) expect(await resend('nothing', '--webhook', webhook)).toEqual(ended(1))
  })
})

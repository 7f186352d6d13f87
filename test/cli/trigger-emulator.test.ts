import { type EmulatorOptions, startEmulator } from 'postern/emulator'
import { silentLogger } from 'postern/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { recordDeliveries } from './recording-server.ts'
import { ended, readLines, runCli } from './run-cli.ts'

async function start(answer?: Parameters<typeof recordDeliveries>[0], options: EmulatorOptions = {}) {
  const { received, url } = await recordDeliveries(answer)
  const emulator = await startEmulator({ logger: silentLogger, ...options })
  onTestFinished(() => emulator.close())
  emulator.webhooks.create({ url, events: ['contact.created', 'contact.updated'] })
  const trigger = (args: string, interrupt?: AbortSignal) =>
    runCli(`trigger ${args} --emulator ${emulator.url}`, { env: {}, ...(interrupt && { interrupt }) })
  return { emulator, received, trigger, url }
}

describe('postern trigger, through an emulator', () => {
  it('sends duplicates and several events, and waits for all', async () => {
    const { received, trigger } = await start()
    const { code, stdout, stderr } = await trigger('contact.updated --count 3 --duplicate 4 --concurrent 2 --watch')
    expect([code, stderr]).toEqual([0, '12 acknowledged, 0 failed, 0 pending\n'])
    expect(stdout.match(/^\d\d:\d\d:\d\d {2}contact\.updated +\S+ +1\/5 +200 +\d+ ms$/gm)).toHaveLength(12)
    expect(stdout.split('\n')).toHaveLength(13)
    expect(new Set(received.map(({ event }) => event.id)).size).toBe(3)
  })

  it("uses the emulator's time, unless the event is a late one", async () => {
    const { emulator, received, trigger } = await start(undefined, { clock: 'manual' })
    await emulator.clock.advance('24h')
    expect(await trigger('contact.created --watch')).toMatchObject({ code: 0 })
    expect(await trigger('contact.created --watch --late 2h')).toMatchObject({ code: 0 })
    const [now, late] = received.map(({ event }) => Date.parse(event.timestamp) - Date.now())
    expect(now).toBeGreaterThan(82_800_000)
    expect(late).toBeLessThan(-7_000_000)
  })

  it('lets an event occur at the time that is set, among other settings', async () => {
    const { emulator, received, trigger } = await start(undefined, { clock: 'manual' })
    await emulator.clock.advance('24h')
    const timestamp = '2025-01-01T00:00:00.000Z'
    const line = 'contact.created --watch --set data.record.note=timestamp='
    expect((await trigger(`${line} --set timestamp=${timestamp}`)).code).toBe(0)
    expect((await trigger(line)).code).toBe(0)
    expect(received[0]?.event.timestamp).toBe(timestamp)
    expect(Date.parse(received[1]?.event.timestamp ?? '') - Date.now()).toBeGreaterThan(82_800_000)
  })

  it('acts for another account', async () => {
    const { emulator, received, trigger, url } = await start()
    emulator.webhooks.create({ url, events: ['contact.created'] }, { accountKey: 'globex' })
    expect(await trigger('contact.created --account globex --watch')).toMatchObject({ code: 0 })
    expect(received.map(({ event }) => event.accountKey)).toEqual(['globex'])
    expect(await trigger('contact.created --account nobody')).toEqual(ended(2, /The emulator refused: .*nobody/))
  })

  it('counts deliveries that the emulator has dropped while they were watched', async () => {
    const { emulator, trigger } = await start(() => 500)
    const [webhook] = emulator.webhooks.list()
    const { url } = await recordDeliveries()
    emulator.webhooks.create({ url, events: ['contact.created'] })
    let isFirst = true
    emulator.subscribe(({ type }) => {
      if (type === 'attempt' && isFirst) setTimeout(() => emulator.webhooks.delete(`${webhook?.id}`), 300)
      isFirst &&= type !== 'attempt'
    })
    const { code, stdout, stderr } = await trigger('contact.created --watch --json')
    expect(readLines(stdout).at(-1)).toEqual({ type: 'summary', succeeded: 1, failed: 0, pending: 0, gone: 1 })
    expect(code).toBe(1)
    expect(stderr).toMatch(/1 acknowledged, 0 failed, 0 pending, 1 gone: the emulator/)
  })

  it('says how many events have occurred if a further one fails', async () => {
    const { emulator, trigger } = await start()
    let count = 0
    emulator.subscribe(({ type }) => {
      if (type === 'delivery' && ++count === 2) emulator.close()
    })
    const { code, stderr } = await trigger('contact.created --count 5 --watch')
    expect([code, stderr]).toEqual([3, expect.stringMatching(/^[12] of 5 events have occurred\n.*no longer answers/)])
  })

  it('shows each attempt once, with advice, and exits 1 if the delivery has failed', async () => {
    const { trigger } = await start(() => 404, { retryScale: 100_000 })
    const { code, stdout, stderr } = await trigger('contact.created --watch')
    expect(code).toBe(1)
    expect(stdout.match(/\d\/5(?= +404 )/g)).toEqual(['1/5', '2/5', '3/5', '4/5', '5/5'])
    expect(stdout).toMatch(/ 1\/5 .* next in \d+ ms \(30 s at x100000\)\n/)
    expect(stdout).toMatch(/ 5\/5 .* failed, no attempt is left\n$/)
    expect(stderr).toMatch(/^404: the receiver has no such path[^\n]*\n0 acknowledged, 1 failed, 0 pending\n$/)
  })

  it('writes an object for each event, attempt and result', async () => {
    const { emulator, trigger } = await start()
    const { code, stdout, stderr } = await trigger('contact.created --duplicate 2 --watch --json')
    expect([code, stderr]).toEqual([0, '2 acknowledged, 0 failed, 0 pending\n'])
    const [delivery] = emulator.deliveries.list()
    const attempt = { type: 'attempt', eventId: delivery?.eventId, number: 1, status: 200, delivery: 'success' }
    expect(readLines(stdout)).toMatchObject([
      { type: 'ready', emulator: emulator.url },
      { type: 'event', eventId: delivery?.eventId, eventType: 'contact.created', deliveries: { length: 2 } },
      ...[attempt, attempt],
      { type: 'summary', succeeded: 2, failed: 0, pending: 0 },
    ])
    const { stdout: plain } = await trigger('contact.created --duplicate 2')
    expect(plain).toMatch(/^evt_\S+ {2}contact\.created {2}2 deliveries\n$/)
  })

  it.each([
    [
      'acme',
      true,
      'No active webhook of that account subscribes to sync.failed, so nothing is delivered. npx postern dev ',
    ],
    ['acme', false, 'subscribes to sync.failed and is paused, so nothing is delivered. Resume it at'],
    ['globex', false, 'No active webhook of that account subscribes to sync.failed'],
  ])('tells why nothing is delivered to %s, with an active webhook or not: %s', async (account, active, why) => {
    const { emulator, trigger, url } = await start()
    if (!active) emulator.webhooks.create({ url, events: ['sync.failed'], active })
    const { code, stdout, stderr } = await trigger(`sync.failed --account ${account}`)
    expect([code, stdout]).toEqual([0, expect.stringMatching(/ {2}0 deliveries\n$/)])
    expect(stderr).toContain(why)
  })

  it('gives up in time, and suggests a fix', async () => {
    const { emulator, trigger } = await start(() => 500)
    const { code, stdout, stderr } = await trigger('contact.created --watch --timeout 300ms --json')
    expect(code).toBe(5)
    expect(readLines(stdout)).toMatchObject([{}, {}, { number: 1, status: 500 }, { type: 'summary', pending: 1 }])
    expect(stderr).toContain('Not done after 300 ms.')
    expect(emulator.deliveries.list()).toHaveLength(1)
    const manual = await start(() => 500, { clock: 'manual' })
    const advice = `clock of this emulator stands still: move it at ${manual.emulator.url}/_inspector`
    expect((await manual.trigger('contact.created --watch --timeout 300ms')).stderr).toContain(advice)
  })

  it('exits 130 when interrupted, with a summary', async () => {
    const { emulator, trigger } = await start(() => 500)
    const stop = new AbortController()
    emulator.subscribe(({ type }) => {
      if (type === 'attempt') setTimeout(() => stop.abort(), 100)
    })
    const { code, stderr } = await trigger('contact.created --watch', stop.signal)
    expect([code, stderr]).toEqual([130, 'interrupted: 0 acknowledged, 0 failed, 1 pending\n'])
  })

  it('says that an event may have occurred if it was being sent when interrupted', async () => {
    const { emulator, trigger } = await start()
    const stop = new AbortController()
    emulator.subscribe(({ type }) => {
      if (type === 'delivery') stop.abort()
    })
    const { code, stderr } = await trigger('contact.created', stop.signal)
    expect([code, stderr]).toEqual([130, 'An event was being sent: it may have occurred.\n'])
  })

  it('does not go both through an emulator and straight to a receiver', async () => {
    for (const more of ['--watch', '--emulator http://127.0.0.1:4010'])
      expect(await runCli(`trigger contact.created --to http://127.0.0.1:9/ ${more}`)).toEqual(ended(2, '--to goes'))
  })
})

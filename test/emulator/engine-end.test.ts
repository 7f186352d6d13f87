import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { makeEngine, only, settle } from './engine-scene.ts'

describe('a webhook that is deleted', () => {
  it('gets no further attempt, and the result of the last one is not recorded', async () => {
    const { register, emit, webhooks, log, engine, attempts, advance, messages } = makeEngine({
      maxInFlightPerWebhook: 1,
    })
    const webhookId = register()
    const [one] = emit(webhookId, 3)
    webhooks.delete('acme', webhookId, (write) => log.removeWebhook(webhookId, write))
    messages.splice(0)
    await only(attempts).end('status')
    await advance('1h')
    expect([attempts.length, one?.attempts, messages, engine.nextDueAt]).toEqual([1, [], [], undefined])
  })
})

it('the result of an attempt is not recorded if its delivery has failed in the meantime', async () => {
  const { register, emit, log, attempts, advance, messages } = makeEngine()
  const delivery = only(emit(register()))
  log.update([delivery], { status: 'failed', nextAttemptAt: undefined, note: 'the webhook was deleted' })
  messages.splice(0)
  await only(attempts).end()
  await advance('1h')
  expect(delivery).toMatchObject({ status: 'failed', note: 'the webhook was deleted', attempts: [] })
  expect([messages, attempts.length]).toEqual([[], 1])
})

describe('a delay before an attempt is sent', () => {
  const faults = { latencyMs: [2_000, 2_000] } as const

  it('is waited for, and is the next stop of the clock', async () => {
    const { register, emit, advance, engine, attempts, begin } = makeEngine({ faults })
    const delivery = only(emit(register()))
    expect([delivery.isInFlight, engine.inFlight, engine.nextDueAt]).toEqual([true, 1, begin + 2_000])
    await advance(1_999)
    expect(attempts).toEqual([])
    await advance(1)
    expect([attempts.length, engine.nextDueAt]).toEqual([1, undefined])
  })

  it('that outlasts a pause ends in its turn after the resume', async () => {
    const { register, emit, advance, setActive, attempts, ended } = makeEngine({ faults, maxInFlightPerWebhook: 1 })
    const webhookId = register()
    emit(webhookId, 2)
    setActive(webhookId, false)
    await advance('3s')
    expect(attempts).toEqual([])
    setActive(webhookId, true)
    await advance('2s')
    await attempts[0]?.end()
    await advance('2s')
    expect(ended()).toEqual(['d1', 'd2'])
  })

  it('is sent once if the webhook is resumed before the delay has passed', async () => {
    const { register, emit, advance, setActive, attempts } = makeEngine({ faults })
    const webhookId = register()
    emit(webhookId)
    await advance('1s')
    setActive(webhookId, false)
    setActive(webhookId, true)
    await advance('1h')
    expect(attempts).toHaveLength(1)
  })

  it.each([
    ['dropped', 'failed', 1],
    ['counted', 'pending', 2],
  ] as const)('of a retry is %s by a pause if that is assumed (A32)', async (A32, status, made) => {
    const { register, emit, advance, setActive, attempts } = makeEngine({
      faults,
      results: ['status'],
      assume: { A32 },
    })
    const webhookId = register()
    const delivery = only(emit(webhookId))
    await advance('33s')
    setActive(webhookId, false)
    await advance('5s')
    expect([attempts.length, delivery.status, delivery.attempts.length]).toEqual([1, status, made])
  })

  it('goes to the URL that the webhook then has, and to none if it is deleted', async () => {
    const { register, emit, advance, webhooks, log, attempts } = makeEngine({ faults })
    const [one, two] = [register(), register()]
    emit(one)
    emit(two)
    webhooks.update('acme', one, { url: 'http://localhost/new' })
    webhooks.delete('acme', two, (write) => log.removeWebhook(two, write))
    await advance('2s')
    expect(attempts).toMatchObject([{ url: 'http://localhost/new' }])
  })
})

describe('the end', () => {
  it('of a cleared engine drops what is planned, and the results of attempts in progress', async () => {
    const { register, emit, engine, log, advance, attempts, manual } = makeEngine({ maxInFlightPerWebhook: 1 })
    const webhookId = register()
    emit(webhookId, 2)
    const later = only(emit(register()))
    await attempts[1]?.end('status')
    expect(manual.pending).toBe(1)
    engine.clear()
    log.clear()
    expect([manual.pending, engine.nextDueAt]).toEqual([0, undefined])
    await attempts[0]?.end('status')
    await advance('1h')
    expect([attempts.length, later.attempts.length]).toEqual([2, 1])
    emit(webhookId)
    expect(attempts).toHaveLength(3)
  })

  it('aborts the attempts in progress, and records none of them', async () => {
    const { register, add, emit, engine, log, attempts, advance, messages, manual, begin } = makeEngine({
      maxInFlightPerWebhook: 1,
    })
    const webhookId = register()
    emit(webhookId, 2)
    let hasClosed = false
    const closed = engine.close().then(() => {
      hasClosed = true
    })
    await settle()
    expect([only(attempts).signal.aborted, hasClosed]).toEqual([true, false])
    messages.splice(0)
    await only(attempts).end()
    await closed
    const later = only(add(webhookId))
    later.nextAttemptAt = begin + 60_000
    engine.schedule([later])
    expect(manual.pending).toBe(0)
    emit(webhookId)
    await advance('1h')
    expect([attempts.length, messages, manual.pending]).toEqual([1, [], 0])
    expect(log.list()).toMatchObject(new Array(4).fill({ status: 'pending', attempts: [] }))
  })

  it('ends the delays of attempts, which are not sent', async () => {
    const { register, emit, engine, attempts, log, manual } = makeEngine({ faults: { latencyMs: [2_000, 2_000] } })
    emit(register())
    await engine.close()
    expect([attempts, manual.pending, log.pendingCount]).toEqual([[], 0, 1])
  })

  it('ends every wait, which leaves nothing behind in any case', async () => {
    const { engine, advance, manual, register, emit, attempts } = makeEngine()
    emit(register())
    const { signal } = only(attempts)
    let waited = 0
    const wait = () => engine.wait(5_000).then(() => waited++)
    const first = wait()
    await advance(4_999)
    expect([waited, getEventListeners(signal, 'abort').length]).toEqual([0, 1])
    await advance(1)
    await first
    expect([waited, manual.pending, getEventListeners(signal, 'abort').length]).toEqual([1, 0, 0])
    const second = wait()
    const closed = engine.close()
    await second
    expect([waited, manual.pending, getEventListeners(signal, 'abort').length]).toEqual([2, 0, 0])
    await only(attempts).end()
    await closed
  })
})

it('more than ten attempts at a time need no warning of a leak', async () => {
  const warnings: unknown[] = []
  const listener = (warning: Error) => warnings.push(warning.name)
  process.on('warning', listener)
  const { engine } = makeEngine()
  const waits = Array.from({ length: 20 }, () => engine.wait(1_000))
  await engine.close()
  await Promise.all(waits)
  await settle()
  process.off('warning', listener)
  expect(warnings).toEqual([])
})

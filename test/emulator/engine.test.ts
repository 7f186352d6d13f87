import { describe, expect, it } from 'vitest'
import { makeEngine, only } from './engine-scene.ts'

describe('the schedule of attempts', () => {
  it.each([
    ['end', 40_000],
    ['planned', 30_000],
  ])('counts a delay from the %s of the attempt (A36)', async (A36, nextAt) => {
    const { register, emit, advance, attempts, begin } = makeEngine({ assume: { A36 } })
    const delivery = only(emit(register()))
    await advance('10s')
    await only(attempts).end('status')
    expect(delivery.nextAttemptAt).toBe(begin + nextAt)
    await advance('1m')
    expect(attempts[1]?.after).toBe(nextAt)
  })

  it('has one attempt for a delivery that was planned twice, at the later plan', async () => {
    const { register, add, engine, advance, attempts, begin } = makeEngine()
    const [one, two] = add(register(), 2)
    if (one && two) {
      one.nextAttemptAt = begin + 5_000
      engine.schedule([one])
      one.nextAttemptAt = begin + 1_000
      engine.schedule([one])
      two.nextAttemptAt = undefined
      engine.schedule([two])
    }
    expect(attempts).toMatchObject([{ id: 'd2', after: 0 }])
    await advance('1m')
    expect(attempts.slice(1)).toMatchObject([{ id: 'd1', after: 1_000 }])
  })
})

describe('attempts that are due together', () => {
  it('are at most so many for a webhook, and so many in all', async () => {
    const { register, emit, engine, attempts, ended } = makeEngine({ maxInFlight: 5, maxInFlightPerWebhook: 2 })
    const [one, two, three] = [register(), register(), register()]
    emit(one, 4)
    expect([engine.inFlight, ended()]).toEqual([2, ['d1', 'd2']])
    emit(two, 3)
    emit(three, 3)
    expect([engine.inFlight, ended()]).toEqual([5, ['d1', 'd2', 'd5', 'd6', 'd8']])
    await attempts[4]?.end()
    expect([engine.inFlight, ended().slice(5)]).toEqual([5, ['d9']])
    await attempts[0]?.end()
    expect([engine.inFlight, ended().slice(6)]).toEqual([5, ['d3']])
  })

  it('take turns by webhook, and by time within one', async () => {
    const { register, emit, attempts, ended } = makeEngine({ maxInFlight: 1 })
    const [one, two] = [register(), register()]
    emit(one, 3)
    emit(two, 2)
    for (let made = 0; made < 4; made++) await attempts[made]?.end()
    expect(ended()).toEqual(['d1', 'd2', 'd4', 'd3', 'd5'])
  })

  it('are drawn from the first 16 of a webhook if they are shuffled, by the place of each', async () => {
    const options = { maxInFlight: 1, results: [undefined], faults: { shuffle: true } } as const
    const { register, add, engine, faults, advance, ended } = makeEngine(options)
    const all = add(register(), 40)
    const left = [...all]
    const expected = all.map(() => {
      const drawn = left.slice(0, 16).reduce((least, each) => (faults.place(each) < faults.place(least) ? each : least))
      return left.splice(left.indexOf(drawn), 1)[0]?.id
    })
    engine.schedule(all)
    await advance(0)
    expect(ended()).toEqual(expected)
    expect(expected).not.toEqual(all.map(({ id }) => id))
  })
})

describe('a paused webhook', () => {
  /** Pauses a webhook between two attempts of one delivery, and then emits another. */
  async function pause(...given: Parameters<typeof makeEngine>) {
    const scene = makeEngine(...given)
    const webhookId = scene.register()
    const tried = only(scene.emit(webhookId))
    await scene.advance('10s')
    scene.setActive(webhookId, false)
    const fresh = only(scene.emit(webhookId))
    return { ...scene, tried, fresh, resume: () => scene.setActive(webhookId, true) }
  }

  it('has no attempts until it is resumed: they are then made immediately', async () => {
    const { resume, advance, engine, attempts } = await pause({ results: ['status', undefined] })
    expect(engine.nextDueAt).toBeUndefined()
    await advance('1h')
    expect([attempts.length, engine.nextDueAt]).toEqual([1, undefined])
    resume()
    await advance(0)
    expect(attempts.slice(1).map(({ after }) => after)).toEqual([3_610_000, 3_610_000])
  })

  it('fails deliveries whose retry is due if that is assumed, and no first attempt (A32)', async () => {
    const options = { results: ['status', undefined], assume: { A32: 'dropped' } } as const
    const { tried, fresh, resume, advance, engine, attempts, messages, begin } = await pause(options)
    expect(engine.nextDueAt).toBe(begin + 30_000)
    messages.splice(0)
    await advance('1m')
    expect(tried).toMatchObject({ status: 'failed', nextAttemptAt: undefined, note: 'the webhook was paused' })
    expect([tried.attempts.length, messages]).toEqual([1, [{ type: 'delivery', delivery: tried }]])
    expect([fresh.status, attempts.length]).toEqual(['pending', 1])
    resume()
    await advance(0)
    expect([fresh.status, fresh.nextAttemptAt, attempts.length]).toEqual(['success', undefined, 2])
  })

  it('counts attempts that are due as failed if that is assumed, and no first attempt (A32)', async () => {
    const options = { results: ['status'], assume: { A32: 'counted' } } as const
    const { tried, fresh, advance, attempts, begin } = await pause(options)
    await advance('1m')
    expect(tried.attempts).toMatchObject([{ failure: 'status' }, { failure: 'paused', at: begin + 30_000, number: 2 }])
    expect(tried).toMatchObject({ status: 'pending', nextAttemptAt: begin + 330_000, isInFlight: false })
    await advance('24h')
    expect(tried.attempts.map(({ failure }) => failure)).toEqual(['status', ...new Array(4).fill('paused')])
    expect([tried.status, fresh.attempts, attempts.length]).toEqual(['failed', [], 1])
  })
})

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
    expect([delivery.isInFlight, engine.inFlight, engine.nextDueAt]).toEqual([false, 0, begin + 2_000])
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
    await attempts[0]?.end()
    expect(ended()).toEqual(['d1', 'd2'])
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

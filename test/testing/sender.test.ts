import { nodeHandler } from 'postern/node'
import {
  createSender,
  events,
  fetchTarget,
  manualClock,
  nodeTarget,
  recordHandlers,
  type Target,
} from 'postern/testing'
import 'postern/testing/vitest'
import { fetchHandler } from 'postern/web'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { Gate } from '../support/gate.ts'
import { newReceiver, START, secret, TARGETS } from './support.ts'

/** A broken clock ends a test here, before the usual twenty seconds. */
vi.setConfig({ testTimeout: 8_000 })

async function startSender(start: (typeof TARGETS)[number][1], work: (id: string) => unknown = () => {}) {
  const clock = manualClock(START)
  const receiver = newReceiver(clock).on('contact.*', (event) => work(event.id))
  const handled = recordHandlers(receiver)
  const sender = createSender({ target: await start(receiver), secret, clock })
  return { clock, handled, sender }
}

describe.each(TARGETS)('a sender to %s', (_name, start) => {
  it.each(['flip-bit', 'no-header', 'reserialised', 'two-headers'] as const)('is refused: %s', async (tamper) => {
    const { sender, handled } = await startSender(start)
    expect(await sender.send(events.contact.created(), { tamper })).toBeRejected(401)
    expect(handled.runs).toEqual([])
  })

  it('sends duplicates, crowds and parts', async () => {
    const { sender, handled } = await startSender(start)
    const [a, b, c] = [
      events.contact.created(),
      events.contact.created(),
      events.contact.created({ lastName: 'ž'.repeat(99) }),
    ]
    const copies = await sender.duplicate(a, 3)
    expect(copies.map(({ body }) => JSON.parse(body).code)).toEqual(['handled', 'duplicate', 'duplicate'])
    const crowd = await sender.concurrently(b, 8)
    expect(crowd.map(({ status }) => status)).toEqual(Array(8).fill(200))
    expect(await sender.chunked(c, 7, { format: 'random' })).toBeAcknowledged()
    for (const { id } of [a, b, c]) expect(handled).toHaveHandledOnce(id)
  })

  it('sends the last one first', async () => {
    const { sender, handled } = await startSender(start)
    const list = [events.contact.created(), events.contact.updated(), events.contact.deleted()]
    const attempts = await sender.outOfOrder(list)
    expect(attempts.map(({ body }) => JSON.parse(body).id)).toEqual(list.map(({ id }) => id))
    expect(handled.runs.map(({ event }) => event.id)).toEqual(list.map(({ id }) => id).reverse())
  })

  it('runs the whole schedule, in no time', async () => {
    const { clock, sender, handled } = await startSender(start)
    handled.failTimes(5)
    const delivery = sender.deliver(events.contact.created())
    await clock.advance('2h35m29s')
    expect(delivery).toHaveAttempts(4)
    expect(delivery).toHaveScheduledNext('2h')
    await clock.advance('1s')
    const { status, attempts, next } = await delivery
    expect({ status, next }).toEqual({ status: 'failed', next: undefined })
    expect(attempts.map(({ number, at, status }) => [number, (at - Date.parse(START)) / 1_000, status])).toEqual([
      [1, 0, 500],
      [2, 30, 500],
      [3, 330, 500],
      [4, 2_130, 500],
      [5, 9_330, 500],
    ])
    expect(clock.pending).toBe(0)
  })
})

// All run concurrently: each waits for a second of real time.
it('gives up after ten seconds, and continues while the handler still works, whatever the target', async () => {
  await Promise.all(
    TARGETS.map(async ([name, start]) => {
      const gate = new Gate()
      const { clock, sender } = await startSender(start, () => gate.promise)
      const delivery = sender.deliver(events.contact.created())
      await clock.advance('8s')
      expect(delivery.attempts, name).toMatchObject([{ status: 503, durationMs: 8_000 }])
      gate.open()
      await clock.advance('30s')
      expect(await delivery, name).toMatchObject({ status: 'success', attempts: [{}, { status: 200, number: 2 }] })
    }),
  )
})

describe('a sender', () => {
  const answering = (...statuses: readonly (number | Error)[]): Target => {
    const left = [...statuses]
    return {
      send: async () => {
        const status = left.shift() ?? 500
        if (status instanceof Error) throw status
        return { status, headers: {}, body: '' }
      },
    }
  }
  const newSender = (target: Target, clock = manualClock(START)) => createSender({ target, secret, clock })

  it('stops at the first 2xx', async () => {
    const clock = manualClock(START)
    const delivery = newSender(answering(500, 302, new Error('refused'), 204), clock).deliver(events.syncCompleted())
    expect(delivery).toMatchObject({ status: 'pending', attempts: [], next: undefined })
    for (const delay of ['30s', '5m', '30m']) {
      await clock.advance(0)
      expect(delivery).toHaveScheduledNext(delay)
      expect(delivery.next?.at).toBe(clock.now() + (delivery.next?.delayMs ?? 0))
      expect(await clock.next()).toBe(true)
    }
    const { status, attempts } = await delivery
    expect(status).toBe('success')
    expect(attempts.map(({ status, failure }) => [status, failure])).toEqual([
      [500, 'status'],
      [302, 'status'],
      [undefined, 'connection'],
      [204, undefined],
    ])
    expect(attempts[2]?.error).toMatchObject({ message: 'refused' })
    expect(await clock.next()).toBe(false)
  })

  it.concurrent('counts delays from the end of the attempt before, and plans none during one', async () => {
    const clock = manualClock(START)
    const delivery = newSender({ send: () => new Promise<never>(() => {}) }, clock).deliver(events.syncCompleted())
    await clock.advance('45s')
    expect([delivery.attempts.length, delivery.next]).toEqual([1, undefined])
    await clock.advance('5s')
    expect(delivery.attempts.map(({ at }) => at - Date.parse(START))).toEqual([0, 40_000])
    expect(delivery).toHaveScheduledNext('5m')
  })

  it('sends the same bytes in every attempt', async () => {
    const clock = manualClock(START)
    const bodies: string[] = []
    const target: Target = {
      async send({ body }) {
        bodies.push(Buffer.concat(body).toString())
        return { status: 500, headers: {}, body: '' }
      },
    }
    const delivery = newSender(target, clock).deliver(events.syncCompleted(), { format: 'random' })
    await clock.advance('3h')
    expect(await delivery).toHaveAttempts(5)
    expect(new Set(bodies).size).toBe(1)
  })

  it.each([
    ['waits for its next attempt', answering(500), '1s'],
    ['waits for an answer', { send: () => new Promise<never>(() => {}) }, '1s'],
    ['has not begun', answering(500), undefined],
  ])('ends a delivery that %s, when its signal aborts', async (_when, target, after) => {
    const clock = manualClock(START)
    const cancel = new AbortController()
    if (after === undefined) cancel.abort(new Error('enough'))
    const delivery = newSender(target, clock).deliver(events.syncCompleted(), { signal: cancel.signal })
    await clock.advance(after ?? 0)
    cancel.abort(new Error('enough'))
    await expect(delivery).rejects.toThrow('enough')
    expect([clock.pending, delivery.status, delivery.next]).toEqual([0, 'pending', undefined])
  })

  it('signs as its own options say if those of an attempt are undefined', async () => {
    const sender = createSender({
      target: nodeTarget(nodeHandler(newReceiver().on('*', () => {}))),
      secret,
      tamper: 'flip-bit',
    })
    expect(await sender.send(events.contact.created(), { tamper: undefined })).toBeRejected(401)
  })
})

it('warns of a delivery that waits by real time for a receiver with a manual clock', async () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => warn.mockRestore())
  const controller = new AbortController()
  for (const clock of [undefined, manualClock()]) {
    const receiver = newReceiver(clock).on('contact.*', () => {})
    recordHandlers(receiver).failTimes(1)
    const sender = createSender({ target: fetchTarget(fetchHandler(receiver)), secret })
    const delivery = sender.deliver(events.contact.created(), { signal: controller.signal })
    await vi.waitFor(() => expect(delivery).toHaveScheduledNext('30s'))
    expect(warn).toHaveBeenCalledTimes(clock ? 1 : 0)
  }
  controller.abort()
  expect(warn.mock.calls[0]).toEqual([
    expect.stringMatching(/sender\.deliver: .*createSender\(\{ clock \}\)/),
    'PosternWarning',
  ])
})

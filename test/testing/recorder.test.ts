import { events, recordHandlers, testReceiver } from 'postern/testing'
import 'postern/testing/vitest'
import { describe, expect, it } from 'vitest'
import { newReceiver } from './support.ts'

describe('recordHandlers', () => {
  it('has no run of a handler that was skipped, and the matchers say so', async () => {
    const receiver = newReceiver()
    receiver.on('contact.updated', { order: 'latest', name: 'copy' }, () => {})
    const { dispatch, handled } = testReceiver(receiver)
    const [older, newer] = ['2025-01-01T10:00:00Z', '2025-01-01T10:00:01Z'].map((timestamp) =>
      events.contact.updated({ _id: 'c1', email: timestamp }, { timestamp }),
    )
    if (older === undefined || newer === undefined) throw new Error('two events were made')
    await dispatch(newer)
    const outcome = await dispatch(older)
    expect(outcome).toBeAcknowledged()
    expect(outcome.skipped).toEqual(['copy'])
    expect(handled).toHaveHandledOnce(newer.id)
    expect(handled).not.toHaveHandledOnce(older.id)
    expect(handled).not.toHaveHandled('contact.updated', { email: older.timestamp })
  })

  it('records every run, with its end', async () => {
    const receiver = newReceiver()
    const handled = recordHandlers(receiver)
    let release = () => {}
    receiver
      .on('contact.created', () => {})
      .on('contact.created', { name: 'thrower' }, () => {
        throw new Error('thrown')
      })
      .on('contact.created', { name: 'rejecter' }, () => Promise.reject(new Error('rejected')))
      .on(
        'contact.created',
        { name: 'waiter' },
        () =>
          new Promise<void>((resolve) => {
            release = resolve
          }),
      )
    const event = events.contact.created()
    const outcome = receiver.dispatch(event)
    expect(handled.runs.map(({ handlerName, state }) => [handlerName, state])).toEqual([
      ['contact.created', 'finished'],
      ['thrower', 'failed'],
      ['rejecter', 'running'],
      ['waiter', 'running'],
    ])
    release()
    expect(await outcome).toMatchObject({ outcome: 'failed' })
    expect(handled.runs.map(({ state, error }) => [state, error])).toEqual([
      ['finished', undefined],
      ['failed', new Error('thrown')],
      ['failed', new Error('rejected')],
      ['finished', undefined],
    ])
    for (const run of handled.runs) expect(run.event).toMatchObject({ id: event.id, data: event.data })
  })

  it('finds runs by event and by type', async () => {
    const receiver = newReceiver().on('contact.*', () => {})
    const handled = recordHandlers(receiver)
    const [a, b] = [events.contact.created(), events.contact.deleted()]
    for (const event of [a, b]) await receiver.dispatch(event)
    expect(handled.runsOf(a.id)).toEqual([handled.runs[0]])
    expect(handled.runsOfType('contact.deleted')).toEqual([handled.runs[1]])
    expect([handled.runsOf('evt_none'), handled.runsOfType('contact')]).toEqual([[], []])
    handled.clear()
    expect(handled.runs).toEqual([])
  })

  it('lets each handler fail as often as the test says, without calling it', async () => {
    const receiver = newReceiver()
    const handled = recordHandlers(receiver)
    const calls: string[] = []
    receiver.on('contact.updated', () => calls.push('one')).on('contact.*', () => calls.push('all'))
    handled.failTimes(1, 'first')
    handled.failTimes(1)
    const event = events.contact.updated()
    for (const outcome of ['failed', 'failed', 'handled', 'duplicate'])
      expect(await receiver.dispatch(event)).toMatchObject({ outcome })
    expect(calls).toEqual(['one', 'all'])
    expect(handled.runs.map(({ state }) => state)).toEqual([
      'failed',
      'failed',
      'failed',
      'failed',
      'finished',
      'finished',
    ])
    expect(handled.runs[0]?.error).toBe('first')
    expect(handled.runs[2]?.error).toMatchObject({ message: expect.stringContaining('failTimes') })
    handled.failTimes(9)
    handled.clear()
    expect(await receiver.dispatch(events.contact.updated())).toMatchObject({ outcome: 'handled' })
  })

  it('comes too late after the first delivery, and reports it', async () => {
    const receiver = newReceiver().on('contact.*', () => {})
    await receiver.dispatch(events.contact.created())
    expect(() => recordHandlers(receiver)).toThrow(expect.objectContaining({ code: 'registration_frozen' }))
  })
})

describe('testReceiver', () => {
  it('passes events to the handlers, and records them', async () => {
    const { dispatch, handled } = testReceiver(newReceiver().on('contact.created', () => {}))
    const event = events.contact.created({ email: 'zoe@example.test' })
    expect(await dispatch(event)).toBeAcknowledged()
    expect(await dispatch(event)).toMatchObject({ outcome: 'duplicate' })
    expect(handled).toHaveHandledOnce(event.id)
    expect(handled).toHaveHandled('contact.created', { email: 'zoe@example.test' })
  })
})

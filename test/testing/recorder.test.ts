import { createReceiver } from 'postern'
import { contact } from 'postern/models'
import {
  createSender,
  events,
  fetchTarget,
  type HandlerRecorder,
  manualClock,
  recordHandlers,
  silentLogger,
  testReceiver,
} from 'postern/testing'
import 'postern/testing/vitest'
import { fetchHandler } from 'postern/web'
import { describe, expect, it, vi } from 'vitest'
import { Gate } from '../support/gate.ts'
import { newReceiver, secret } from './support.ts'

describe('recordHandlers', () => {
  it('has no run of a handler that was skipped, and the matchers say so', async () => {
    const receiver = newReceiver().on('contact.updated', { order: 'latest', name: 'copy' }, () => {})
    const { dispatch, handled } = testReceiver(receiver)
    const make = (timestamp: string) => events.contact.updated({ _id: 'c1', email: timestamp }, { timestamp })
    const [older, newer] = [make('2025-01-01T10:00:00Z'), make('2025-01-01T10:00:01Z')]
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
    const gate = new Gate()
    receiver
      .on('contact.created', () => {})
      .on('contact.created', { name: 'thrower' }, () => {
        throw new Error('thrown')
      })
      .on('contact.created', { name: 'rejecter' }, () => Promise.reject(new Error('rejected')))
      .on('contact.created', { name: 'waiter' }, () => gate.promise)
    const event = events.contact.created()
    const outcome = receiver.dispatch(event)
    expect(handled.runs.map(({ handlerName, state }) => [handlerName, state])).toEqual([
      ['contact.created', 'finished'],
      ['thrower', 'failed'],
      ['rejecter', 'running'],
      ['waiter', 'running'],
    ])
    gate.open()
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
    expect([handled.runsOf('evt_none'), handled.runsOfType('contact.updated')]).toEqual([[], []])
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
    expect(handled.runs.map(({ state }) => state)).toEqual([...Array(4).fill('failed'), 'finished', 'finished'])
    expect(handled.runs[0]?.error).toBe('first')
    expect(handled.runs[2]?.error).toMatchObject({ message: expect.stringContaining('failTimes') })
    handled.failTimes(9)
    handled.clear()
    expect(await receiver.dispatch(events.contact.updated())).toMatchObject({ outcome: 'handled' })
  })

  it('takes no name of a handler or a type as an error, which every handler would fail with', async () => {
    const receiver = newReceiver().on('contact.created', { name: 'mail' }, () => {})
    const handled = recordHandlers(receiver)
    expect(() => handled.failTimes(1, 'contact.created')).toThrow(/is no error, but the name of a handler or a type/)
    handled.failTimes(1, 'mail')
    await receiver.dispatch(events.contact.created())
    expect(() => handled.runs).toThrow(/failTimes: "mail" is no error/)
  })

  it('comes too late after the first delivery, and reports it', async () => {
    const receiver = newReceiver().on('contact.*', () => {})
    await receiver.dispatch(events.contact.created())
    expect(() => recordHandlers(receiver)).toThrow(expect.objectContaining({ code: 'registration_frozen' }))
  })
})

describe('the type that toHaveHandled takes', () => {
  const make = (...patterns: readonly ('contact.created' | 'contact.*' | 'invoice.paid' | '*.deleted' | '*')[]) => {
    const options = { secret, logger: silentLogger, models: { contact }, events: { 'invoice.paid': contact } }
    const receiver = createReceiver(options)
    for (const pattern of patterns) receiver.on(pattern, () => {})
    return testReceiver(receiver)
  }

  it.each([
    ['contact.Created', 'did you mean contact.created?', ['contact.*', '*']],
    ['opportunity.update', 'did you mean opportunity.updated?', ['contact.created']],
    ['invoice.pad', 'did you mean invoice.paid?', ['invoice.paid']],
    ['sync.complete', 'did you mean sync.completed?', ['*']],
    ['payment.failed', 'did you mean finance.payment.failed?', ['*']],
    ['contact.*', 'give one type, not a pattern.', ['contact.*']],
    ['contact.*', 'give one type, not a pattern.', ['*']],
    ['contacts.create', 'did you mean contact.created?', ['*']],
    ['contact', 'did you mean contact.created?', ['contact.created']],
    ['contact.removed', 'give one of contact.created, contact.updated, contact.deleted.', ['contact.created']],
    ['evt_1', 'it is the id of an event; give its type.', ['*']],
  ] as const)('is refused if it is misspelt, also under .not: %s, %s', (type, told, patterns) => {
    const { handled } = make(...patterns)
    expect(() => expect(handled).toHaveHandled(type)).toThrow(`there is no type ${type}: ${told}`)
    expect(() => expect(handled).not.toHaveHandled(type)).toThrow(`there is no type ${type}: ${told}`)
  })

  it.each([
    ['contact.updated', ['contact.created']],
    ['contract.created', ['contact.created']],
    ['invoice.created', ['*']],
    ['opportunity.deleted', ['*.deleted']],
    ['finance.payment.failed', ['contact.*']],
    ['invoice.paid', ['invoice.paid']],
    ['contact.merged', ['*']],
  ] as const)('can be one that the service sends or that a handler takes: %s', (type, patterns) => {
    expect(make(...patterns).handled).not.toHaveHandled(type)
  })

  it('can be that of any event that the test dispatched, or that was handled', async () => {
    const [closed, open] = [make('contact.created'), make('*')]
    for (const { dispatch } of [closed, open]) await dispatch(events.raw('contact.create'))
    expect(closed.handled).not.toHaveHandled('contact.create')
    expect(open.handled).toHaveHandled('contact.create')
  })

  it.each([
    ['contcat.created', 'contact.created', ['contact.*']],
    ['contacts.created', 'contact.created', ['*']],
    ['Contact.deleted', 'contact.deleted', ['contact.created']],
    ['opportunities.updated', 'opportunity.updated', ['*']],
    ['finance_invoice.created', 'financeInvoice.created', ['contact.*']],
    ['tickets.created', 'ticket.created', ['*']],
    ['invoice.created', 'financeInvoice.created', ['contact.created']],
    ['payment.deleted', 'finance.payment.completed', ['contact.*']],
  ] as const)('is refused if its model is misspelt, as it would always pass: %s', async (type, meant, patterns) => {
    const { handled, dispatch } = make(...patterns)
    await dispatch(events.model('ticket').created())
    const told = `there is no type ${type}: did you mean ${meant}?`
    expect(() => expect(handled).not.toHaveHandled(type)).toThrow(told)
    expect(() => handled.runsOfType(type)).toThrow(told)
  })

  it('is refused as the id of an event', () => {
    const { handled } = make('*')
    const told = '"contact.created" is a type; give the id of an event.'
    expect(() => handled.runsOf('contact.created')).toThrow(told)
    expect(() => expect(handled).not.toHaveHandledOnce('contact.created')).toThrow(told)
  })

  it('is refused as the id of an event if it is that of a record, handled or not', async () => {
    const { dispatch, handled } = make('invoice.paid')
    const [event, same] = [events.contact.created(), events.contact.created({ _id: 'evt_1' }, { id: 'evt_1' })]
    for (const each of [event, same]) await dispatch(each)
    const told = `"${event.data.record._id}" is the id of a record; give the id of an event.`
    expect(() => expect(handled).not.toHaveHandledOnce(event.data.record._id)).toThrow(told)
    for (const { id } of [event, same]) expect(handled).not.toHaveHandledOnce(id)
  })

  it('is told if another model was probably meant', () => {
    const { handled } = make('contact.*')
    expect(() => expect(handled).toHaveHandled('contcat.created')).toThrow(
      /no handler ran\n {2}did you mean contact\.created\?/,
    )
  })
})

describe('a negated matcher, which would pass before the event is handled', () => {
  const expectNot = (handled: HandlerRecorder) => () => expect(handled).not.toHaveHandled('contact.created')

  it('is refused while dispatch() is not awaited', async () => {
    const receiver = newReceiver().on('contact.*', async () => {})
    const { dispatch, handled } = testReceiver(receiver)
    const event = events.contact.created()
    const pending = dispatch(event)
    expect(expectNot(handled)).toThrow(/contact\.created is still under way: await dispatch\(\)/)
    expect(() => expect(handled).not.toHaveHandledOnce(event.id)).toThrow(/still under way/)
    expect(handled).not.toHaveHandled('contact.deleted')
    await pending
    expect(expectNot(handled)).toThrow(/not to have handled contact\.created/)
  })

  it('is refused while a delivery is not awaited', async () => {
    const gate = new Gate()
    const receiver = newReceiver().on('contact.*', () => gate.promise)
    const { handled } = testReceiver(receiver)
    const sender = createSender({ target: fetchTarget(fetchHandler(receiver)), secret })
    const pending = sender.send(events.contact.created())
    expect(expectNot(handled)).toThrow(/a delivery has only begun: await it first/)
    await vi.waitFor(() => expect(handled.runs).toHaveLength(1))
    expect(expectNot(handled)).toThrow(/still under way: await dispatch\(\), or the delivery/)
    gate.open()
    await pending
  })

  it('may follow a handler that timed out', async () => {
    const clock = manualClock()
    const receiver = createReceiver({ secret, clock, logger: silentLogger }).on('*', () => new Promise(() => {}))
    const { dispatch, handled } = testReceiver(receiver)
    const pending = dispatch(events.contact.created())
    await clock.advance('1h')
    await pending
    expect(handled.runs).toMatchObject([{ state: 'running' }])
    expectNot(handled)()
  })
})

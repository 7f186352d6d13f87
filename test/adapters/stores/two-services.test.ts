import { createReceiver, type PosternError, type ReceiverOptions, type Store } from 'postern'
import { openSqlite, sqliteStore } from 'postern/sqlite'
import { events, signed } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { closing, makeFolder } from './sqlite/folder.ts'

const SECRET = 'whsec_two_services'

interface Service {
  readonly store: Store
  readonly handlers: Readonly<Record<string, string>>
  readonly name?: string
}

/** A service with handlers for created contacts, by name and pattern, and what it reports. */
function makeService({ store, handlers, name }: Service) {
  const errors: PosternError[] = []
  const warnings: string[] = []
  const ran: string[] = []
  const note = (_: object, text: string) => void warnings.push(text)
  const logger = { debug() {}, info: note, warn: note, error() {} }
  const options: ReceiverOptions<never, never> = {
    secret: SECRET,
    store,
    logger,
    onError: (error) => errors.push(error),
  }
  const receiver = createReceiver({ ...options, ...(name !== undefined && { name }) })
  for (const [handler, pattern] of Object.entries(handlers))
    receiver.on(pattern, { name: handler }, () => void ran.push(handler))
  const send = async (event = events.contact.created()) =>
    (await receiver.receive(signed(event, { secret: SECRET }))).outcome
  return { receiver, send, errors, warnings: () => warnings.filter((text) => text.includes('createReceiver')), ran }
}

// The suite of stores shows on each engine that a claim returns who completed an event, and that events can be forgotten.
describe('two services on one engine', () => {
  const pathOf = makeFolder()
  const open = (handlers: Service['handlers'], name?: string) => {
    const store = sqliteStore({ database: closing(openSqlite(pathOf('app.db'))) })
    return makeService({ store, handlers, ...(name !== undefined && { name }) })
  }

  it('reports once, at error, that other handlers finished an event which then does not run here', async () => {
    const billing = open({ charge: 'contact.created' })
    const mailing = open({ welcome: 'contact.created', count: '*' })
    for (const event of [events.contact.created(), events.contact.created()]) {
      expect(await billing.send(event)).toBe('handled')
      expect(await mailing.send(event)).toBe('duplicate')
    }
    expect(mailing.errors.map(({ code }) => code)).toEqual(['store_shared'])
    expect(mailing.errors[0]?.message).toContain('"charge"')
    expect(mailing.errors[0]?.message).toContain("createReceiver({ name: '…' })")
    expect([billing.errors, billing.warnings(), mailing.ran]).toEqual([[], [], []])
  })

  it('reports marks of handlers that it does not have', async () => {
    const billing = open({ charge: 'contact.created' })
    billing.receiver.on('contact.*', { name: 'fails' }, () => {
      throw new Error('not yet')
    })
    const mailing = open({ welcome: 'contact.created' })
    const event = events.contact.created()
    expect(await billing.send(event)).toBe('failed')
    expect(await mailing.send(event)).toBe('handled')
    expect(mailing.errors.map(({ code }) => code)).toEqual(['store_shared'])
  })

  it('asks for a name, once, if only that can tell two services with equal handlers apart', async () => {
    const billing = open({ 'contact.created': 'contact.created' })
    const mailing = open({ 'contact.created': 'contact.created' })
    const event = events.contact.created()
    expect(await billing.send(event)).toBe('handled')
    expect(await billing.send(event)).toBe('duplicate')
    for (const expected of ['duplicate', 'duplicate']) expect(await mailing.send(event)).toBe(expected)
    expect(mailing.warnings()).toHaveLength(1)
    expect([billing.warnings(), billing.errors, mailing.errors]).toEqual([[], [], []])
  })

  it('says nothing to processes of one service, which has a name', async () => {
    const [one, another] = [open({ a: '*', b: '*' }, 'crm'), open({ b: '*', c: '*' }, 'crm')]
    const event = events.contact.created()
    expect(await one.send(event)).toBe('handled')
    expect(await another.send(event)).toBe('duplicate')
    expect([another.errors, another.warnings()]).toEqual([[], []])
  })

  it('lets both services run an event if they have names', async () => {
    const billing = open({ charge: 'contact.created' }, 'billing')
    const mailing = open({ welcome: 'contact.created' }, 'mailing')
    const event = events.contact.created()
    for (const { send } of [billing, mailing]) expect(await send(event)).toBe('handled')
    expect(mailing.errors).toEqual([])
  })

  it('runs a done event again once it is forgotten', async () => {
    const one = open({ a: '*', b: '*' }, 'again')
    const event = events.contact.created()
    expect(await one.receiver.forget(event)).toBe(false)
    await one.send(event)
    expect(await one.receiver.forget({ accountKey: 'other', id: event.id })).toBe(false)
    expect(await one.receiver.forget(event)).toBe(true)
    expect(await one.send(event)).toBe('handled')
    expect(one.ran).toEqual(['a', 'b', 'a', 'b'])
    expect(await one.receiver.forget(event)).toBe(true)
    expect((await one.receiver.dispatch(event)).outcome).toBe('handled')
  })
})

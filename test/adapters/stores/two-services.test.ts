import { createReceiver, type PosternError, type Store } from 'postern'
import { openSqlite, sqliteStore } from 'postern/sqlite'
import { events, signed } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { type Line, linesInto } from '../../receiver/support.ts'
import { closing, makeFolder } from './sqlite/folder.ts'

const SECRET = 'whsec_two_services'

type Handlers = Readonly<Record<string, string>>

/** A service with handlers for created contacts, by name and pattern, and what it reports. */
function makeService(store: Store, handlers: Handlers, name: string | undefined) {
  const errors: PosternError[] = []
  const lines: Line[] = []
  const ran: string[] = []
  const onError = (error: PosternError) => void errors.push(error)
  const receiver = createReceiver({ secret: SECRET, store, name, logger: linesInto(lines), onError })
  for (const [handler, pattern] of Object.entries(handlers))
    receiver.on(pattern as '*', { name: handler }, () => void ran.push(handler)) // any of the legal ones
  const send = async (event = events.contact.created()) =>
    (await receiver.receive(signed(event, { secret: SECRET }))).outcome
  const warnings = () => lines.filter(({ message }) => message.includes('createReceiver'))
  return { receiver, send, errors, warnings, ran }
}

// The suite of stores shows on each engine that a claim returns who completed an event, and that events can be forgotten.
describe('two services on one engine', () => {
  const pathOf = makeFolder()
  const open = (handlers: Handlers, name?: string) =>
    makeService(sqliteStore({ database: closing(openSqlite(pathOf('app.db'))) }), handlers, name)

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

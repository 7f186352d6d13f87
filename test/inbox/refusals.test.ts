import type { Inbox } from 'postern'
import { events } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { Gate } from '../support/gate.ts'
import { Scene } from './scene.ts'

const event = events.contact.created
const HOUR = 3_600_000

describe('a receiver with an inbox', () => {
  it('refuses events that it would have to hold beyond maxBufferedBytes while the inbox is slow', async () => {
    const { inbox } = new Scene()
    const gate = new Gate()
    const slow: Inbox = { ...inbox, put: async (item) => gate.promise.then(() => inbox.put(item)) }
    const scene = new Scene({ maxBufferedBytes: 2 ** 22, inbox: slow })
    const large = () => event({ firstName: 'A'.repeat(60_000) })
    scene.receiver.on('*', () => {})
    const sent = Array.from({ length: 200 }, () => scene.deliver(large()))
    expect(await sent.at(-1)).toMatchObject({ outcome: 'overloaded', status: 503 })
    gate.open()
    const outcomes = (await Promise.all(sent)).map(({ outcome }) => outcome)
    const accepted = outcomes.filter((outcome) => outcome === 'accepted').length
    expect(outcomes).toEqual([...Array(accepted).fill('accepted'), ...Array(200 - accepted).fill('overloaded')])
    expect(accepted).toBeGreaterThan(10)
    expect((await inbox.counts()).waiting).toBe(accepted)
    expect(await scene.deliver(event())).toMatchObject({ outcome: 'accepted' })
  })

  it('refuses events above maxAge, and stores none of them', async () => {
    const scene = new Scene({ maxAge: 3 * HOUR })
    scene.receiver.on('*', () => {})
    const old = { ...event(), timestamp: new Date(Date.now() - 4 * HOUR).toISOString() }
    expect(await scene.deliver(old)).toMatchObject({ outcome: 'rejected', code: 'event_too_old', status: 422 })
    expect((await scene.inbox.counts()).waiting).toBe(0)
  })
})

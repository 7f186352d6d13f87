import type { Inbox } from 'postern'
import { events } from 'postern/testing'
import { expect, it } from 'vitest'
import { Gate } from '../support/gate.ts'
import { Scene } from './scene.ts'

const event = events.contact.created

it('a receiver with an inbox refuses events that it would have to hold beyond maxBufferedBytes while the inbox is slow', async () => {
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

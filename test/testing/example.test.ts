import express from 'express'
import { type Clock, createReceiver, type Receiver } from 'postern'
import { expressHandler } from 'postern/express'
import { contact } from 'postern/models'
import {
  createSender,
  events,
  type HandlerRecorder,
  type ManualClock,
  manualClock,
  nodeTarget,
  recordHandlers,
  type Sender,
  silentLogger,
} from 'postern/testing'
import 'postern/testing/vitest'
import { beforeEach, expect, test } from 'vitest'

// A user's test file, against a user's app.

function buildApp(options: { readonly secret: string; readonly clock: Clock }) {
  const receiver: Receiver<{ contact: typeof contact }> = createReceiver({
    ...options,
    models: { contact },
    logger: silentLogger,
  })
  receiver.on('contact.created', () => {}).on('contact.*', { name: 'audit' }, async () => {})
  return { app: express().post('/webhooks', expressHandler(receiver)), receiver }
}

const secret = 'test-secret'
let clock: ManualClock
let sender: Sender
let handled: HandlerRecorder
beforeEach(() => {
  clock = manualClock('2025-01-01T00:00:00Z')
  const { app, receiver } = buildApp({ secret, clock })
  handled = recordHandlers(receiver)
  sender = createSender({ target: nodeTarget(app), secret, clock })
})

test('a contact is stored once, whatever the sender does', async () => {
  const e = events.contact.created({ email: 'zoe@example.test' })
  await sender.concurrently(e, 8)
  await sender.duplicate(e, 2)
  expect(handled).toHaveHandledOnce(e.id)
})

test('a changed byte is refused', async () => {
  expect(await sender.send(events.contact.created(), { tamper: 'flip-bit' })).toBeRejected(401)
})

test("a failing handler is retried on the service's schedule", async () => {
  handled.failTimes(2)
  const d = sender.deliver(events.contact.updated())
  await clock.advance('5m30s')
  expect(await d).toHaveAttempts(3)
})

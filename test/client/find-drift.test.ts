import { createReceiver, record } from 'postern'
import { findDrift } from 'postern/client'
import { expect, it } from 'vitest'

const SYNC = 'sync.completed'
const receiver = () => createReceiver({ secret: 'test-secret', models: { contact: record<object>() } })
const ignore = () => {}

it.each([
  ['nothing', ['contact.created', SYNC], [], []],
  ['a handler without a subscription', [SYNC], ['contact.created'], []],
  ['a subscription without a handler', ['contact.created', SYNC, 'sync.failed'], [], ['sync.failed']],
  ['a wildcard that never matches', ['contact.*'], ['contact.created', SYNC], ['contact.*']],
])('finds %s', (_what, subscribed, missing, unhandled) => {
  const handled = receiver().on('contact.created', ignore).on(SYNC, ignore).eventTypes()
  const isNone = missing.length + unhandled.length === 0
  expect(findDrift(handled, subscribed)).toEqual({ missing, unhandled, isNone })
})

it('treats a wildcard as possibly handling anything', () => {
  const handled = receiver().on('*.deleted', ignore).eventTypes()
  expect(findDrift(handled, ['contact.deleted', 'opportunity.deleted'])).toEqual({
    missing: [],
    unhandled: [],
    isNone: true,
  })
})

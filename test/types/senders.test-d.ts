import type { EventPayloadMap } from '@octokit/webhooks-types'
import { receiveFrom, record } from 'postern'
import {
  type GitHubTypes,
  github,
  type SenderEvent,
  type SenderReceiver,
  standardWebhooks,
  stripe,
} from 'postern/senders'
import { openSqlite, sqliteStore } from 'postern/sqlite'
import { createSender, events, recordHandlers, signed, type Target, testReceiver } from 'postern/testing'
import type { Stripe } from 'stripe'
import { type Equal, expectType } from './equal.ts'

const secret = 'a secret'

const hub = receiveFrom(github<EventPayloadMap>(), { secret })
hub.on('issues.opened', (event, context) => {
  event.data.issue.title satisfies string
  event.type satisfies 'issues.opened'
  context.signal satisfies AbortSignal
})
hub.on('push', { name: 'deploy' }, (event) => event.data.commits.length satisfies number)
hub.on('issues.*', (event) => {
  event.type satisfies `issues.${string}`
  event.data.issue.number satisfies number
})
hub.on('repository_dispatch.*', (event) => event.type satisfies string)
hub.on(['star.created', 'star.deleted'], (event) => event.data.repository.full_name satisfies string)
hub.on('*', (event) => {
  // @ts-expect-error its data is unknown
  event.data.repository
})
// @ts-expect-error misspelt
hub.on('issues.openned', () => {})
// @ts-expect-error misspelt
hub.on('isues.*', () => {})
// @ts-expect-error misspelt in a list
hub.on(['push', 'pusch'], () => {})
// @ts-expect-error these events are about no record of the service
hub.on('issues.*', { order: 'latest' }, () => {})
// @ts-expect-error an option about records of the service
receiveFrom(github(), { secret, models: {} })
// @ts-expect-error headers name the event
hub.receive({ body: new Uint8Array(), signature: '' })

type Opened = SenderEvent<GitHubTypes<EventPayloadMap>, 'issues.opened'>
expectType<Equal<Opened['type'], 'issues.opened'>>()

const billing = receiveFrom(stripe<Stripe.Event>(), { secret, name: 'billing' })
billing.on('invoice.paid', (event) => event.data.data.object.amount_due satisfies number)
billing.on('customer.subscription.*', (event) => event.data.data.object.id satisfies string)
billing.on(['invoice.paid', 'invoice.payment_failed', 'charge.*'], (event) => {
  event.data.data.object.id satisfies string | undefined
})
// @ts-expect-error misspelt
billing.on('invoice.payed', () => {})
// @ts-expect-error misspelt in a list
billing.on(['invoice.paid', 'invoice.payed'], () => {})

type Clerk = { type: 'user.created'; data: { id: string } } | { type: 'user.deleted'; data: { deleted: boolean } }
const users = receiveFrom(standardWebhooks<Clerk>({ headers: 'svix', account: (body) => String(body.instance_id) }), {
  secret,
})
users.on('user.created', (event) => event.data.data.id satisfies string)

const open = receiveFrom(github(), { secret, events: { push: record<{ ref: string }>() } })
open.on('push', (event) => event.data.ref satisfies string)

const anything = receiveFrom(github(), { secret, store: sqliteStore({ database: openSqlite(':memory:') }) })
anything.on('whatever', (event, context) => {
  event.data.field satisfies unknown
  return context.transaction((tx) => void tx)
})
anything.on('issues.*', (event) => event.type satisfies string)

export const receivers: readonly SenderReceiver<never>[] = []

signed({ action: 'opened' }, { sender: github<EventPayloadMap>(), secret, type: 'issues.opened' })
  .headers satisfies object
void hub.receive(signed({}, { sender: github(), secret, type: 'whatever', tamper: 'two-headers' }))
// @ts-expect-error misspelt
signed({}, { sender: github<EventPayloadMap>(), secret, type: 'issues.openned' })
// @ts-expect-error a tamper of the CRM service
signed({}, { sender: github(), secret, tamper: 'no-prefix' })
// @ts-expect-error the service has no such tamper
signed(events.syncFailed(), { secret, tamper: 'expired' })
declare const target: Target
const test = createSender({ sender: github<EventPayloadMap>(), target, secret })
void test.send({}, { type: 'push', id: 'one' })
void test.deliver({}, { type: 'push', signal: new AbortController().signal })
// @ts-expect-error misspelt
void test.send({}, { type: 'pusch' })
// @ts-expect-error its clock says when
void test.send({}, { at: 1 })
// @ts-expect-error the service takes events
void createSender({ target, secret }).send({})
recordHandlers(hub).runs satisfies readonly object[]
testReceiver(hub).handled.runs satisfies readonly object[]

import {
  type AnyEvent,
  type ContextOf,
  createReceiver,
  type DeletedRecord,
  type EventOf,
  type HandlerContext,
  type ModelEvent,
  memoryStore,
  type OpenData,
  type OpenRecord,
  type Receiver,
  type ReceiverWorker,
  record,
  type StandardSchema,
  type SyncTransactionalStore,
  type SyncTransactionContext,
  type TransactionalStore,
  type TransactionContext,
  type WebhookEvent,
} from 'postern'
import { type Contact, contact } from 'postern/models'
import { signed } from 'postern/testing'
import * as z from 'zod'
import { type Equal, expectType } from './equal.ts'

// Only the compiler reads this file: every wrong line fails `tsc --noEmit`.

interface Invoice {
  readonly _id: string
  readonly total: number
}

const project = z.object({ _id: z.string(), title: z.string().nullable(), tags: z.array(z.string()).optional() })
const deal = z.object({
  _id: z.string(),
  closesAt: z.string().transform((text) => new Date(text)),
  stage: z.string().default('new'),
})
declare const handWritten: StandardSchema<
  { readonly _id: string; readonly size: string },
  { readonly _id: string; readonly size: number }
>

const models = { contact, project, deal, handWritten, financeInvoice: record<Invoice>() }
const events = {
  'invoice.paid': z.object({ amount: z.coerce.number() }),
  'order.shipped': record<{ readonly carrier: string }>(),
}

const receiver = createReceiver({ secret: 'secret', models, events })

// ── One model, one action ──────────────────────────────────────────────────────────────────────────────────────────────

receiver.on('contact.created', (event, context) => {
  expectType<Equal<typeof event, ModelEvent<'contact', 'created', Contact>>>()
  expectType<Equal<typeof event.data.record.email, string | null | undefined>>()
  expectType<Equal<typeof context, HandlerContext>>()
  // @ts-expect-error a misspelt field of the documented contact
  event.data.record.emial
  // @ts-expect-error an event is not to be changed
  event.id = 'other'
})

// Handlers see the output of a schema, not its input.
receiver.on('deal.created', (event) => {
  expectType<Equal<typeof event.data.record, { _id: string; closesAt: Date; stage: string }>>()
})
receiver.on('handWritten.created', (event) => {
  expectType<Equal<typeof event.data.record.size, number>>()
})

receiver.on('financeInvoice.deleted', (event) => {
  // @ts-expect-error nothing but the id is left of a deleted record
  event.data.record.total
})

// (test/types/editor.test.ts judges the event of each pattern by the name that an editor shows.)

// ── Events that are not about records ──────────────────────────────────────────────────────────────────────────────────

receiver.on('finance.payment.failed', (event) => {
  // @ts-expect-error it is about no model
  event.model
})
receiver.on('invoice.paid', (event) => {
  expectType<Equal<typeof event, WebhookEvent<'invoice.paid', { amount: number }>>>()
})

// ── Patterns that can never match (editor.test.ts has more, with their messages) ───────────────────────────────────────

// @ts-expect-error a model that was not declared
receiver.on('opportunity.*', () => {})
// @ts-expect-error no events begin with this
receiver.on('finance.*', () => {})
// @ts-expect-error a pattern that is known at run time only
receiver.on(String('contact.created'), () => {})
// @ts-expect-error a misspelt order
receiver.on('contact.updated', { order: 'lastest' }, () => {})
// @ts-expect-error an order of events that are about no record
receiver.on('finance.payment.failed', { order: 'latest' }, () => {})
// @ts-expect-error no handler
receiver.on('contact.created', { name: 'welcome' })

for (const pattern of ['contact.created', 'contact.updated'] as const)
  receiver.on(pattern, (event) => {
    expectType<Equal<typeof event.data.record, Contact>>()
    expectType<Equal<typeof event.action, 'created' | 'updated'>>()
  })

receiver.on(['contact.created', 'project.updated'], (event, { signal }) => {
  expectType<Equal<typeof event.type, 'contact.created' | 'project.updated'>>()
  if (event.model === 'contact') expectType<Equal<typeof event.data.record, Contact>>()
  signal.throwIfAborted()
})
receiver.on(['contact.*', '*.deleted'] as const, { order: 'latest' }, (event) => event.action)
const watched: readonly ('contact.created' | 'contact.updated')[] = ['contact.created']
receiver.on(watched, (event) => event.data.record.email)
// @ts-expect-error one of them is misspelt
receiver.on(['contact.created', 'contcat.updated'], () => {})
// @ts-expect-error none
receiver.on([], () => {})
// @ts-expect-error patterns that are known at run time only
receiver.on(['contact.created', String('contact.updated')], () => {})
// @ts-expect-error one of them is about no record
receiver.on(['contact.updated', 'sync.completed'], { order: 'latest' }, () => {})

async function closesItself() {
  await using scoped = createReceiver({ secret: 's', inbox: undefined })
  await using worker = scoped.work()
  return worker
}
expectType<Equal<ReturnType<typeof closesItself>, Promise<ReceiverWorker>>>()

// ── Handlers in other files ────────────────────────────────────────────────────────────────────────────────────────────

async function welcome(event: EventOf<typeof models, 'contact.created'>, { signal }: HandlerContext): Promise<void> {
  expectType<Equal<typeof event, ModelEvent<'contact', 'created', Contact>>>()
  signal.throwIfAborted()
}
function follow(event: EventOf<typeof models, 'contact.*'>): string {
  return event.action === 'deleted' ? event.data.record._id : (event.data.record.email ?? '')
}
function drop({ model }: EventOf<typeof models, '*.deleted'>): string {
  return model
}
function count({ type }: AnyEvent): string {
  return type
}
receiver.on('contact.created', welcome).on('contact.*', follow).on('*.deleted', drop)
// A handler of wider events also accepts narrower ones.
receiver.on('contact.created', follow).on('contact.deleted', drop).on('contact.created', count).on('sync.failed', count)
// @ts-expect-error a handler of narrower events takes no wider ones
receiver.on('contact.*', welcome)
expectType<Equal<EventOf<typeof models, 'invoice.payed', typeof events>, never>>()

// ── Without models ─────────────────────────────────────────────────────────────────────────────────────────────────────

const open = createReceiver({ secret: 'secret' })

open.on('anything.created', (event) => {
  expectType<Equal<typeof event, ModelEvent<'anything', 'created', OpenRecord>>>()
})
open.on('anything.deleted', (event) => expectType<Equal<typeof event.data.record, DeletedRecord>>())
open.on('sync.failed', (event) => expectType<Equal<typeof event.data, OpenData>>())
open.on('*', (event) => expectType<Equal<typeof event, AnyEvent>>())
// @ts-expect-error a misspelt action
open.on('anything.creatd', () => {})
// @ts-expect-error a type that was not declared
open.on('invoice.paid', () => {})
// @ts-expect-error no model either: it begins event types of the service
open.on('finance.*', () => {})
open.on('export.created', (event) => expectType<Equal<typeof event.model, 'export'>>())

// ── With further events only, and with no models at all ────────────────────────────────────────────────────────────────

const withEvents = createReceiver({ secret: 'secret', events })
withEvents.on('anything.created', (event) => expectType<Equal<typeof event.data.record, OpenRecord>>())
withEvents.on('invoice.paid', (event) => expectType<Equal<typeof event.data, { amount: number }>>())

const withExport = createReceiver({ secret: 'secret', models: { export: record<Invoice>() } })
withExport.on('export.*', (event) => expectType<Equal<typeof event.model, 'export'>>())
// @ts-expect-error a model that was not declared
withExport.on('import.*', () => {})

const closed = createReceiver({ secret: 'secret', models: {} })
closed.on('*.deleted', drop).on('sync.failed', count)
// @ts-expect-error no model was declared
closed.on('contact.created', () => {})

// ── The options ────────────────────────────────────────────────────────────────────────────────────────────────────────

// @ts-expect-error the secret is not optional, though it may be undefined
createReceiver({})
// @ts-expect-error a list goes into `secret`, and a number is none
createReceiver({ secret: 42 })
// @ts-expect-error a bound secret needs its account
createReceiver({ secret: { secret: 'one' } })

// ── Transactions: there by the store ───────────────────────────────────────────────────────────────────────────────────

interface Tx {
  query(text: string): Promise<number>
}
declare const transactional: TransactionalStore<Tx>
declare const blocking: SyncTransactionalStore<{ run(text: string): number }>

const onDatabase = createReceiver({ secret: 'secret', models, events, store: transactional })
onDatabase.on('contact.created', async (event, context) => {
  expectType<Equal<typeof event, ModelEvent<'contact', 'created', Contact>>>()
  expectType<Equal<typeof context, TransactionContext<Tx>>>()
  const rows = await context.transaction(async (tx) => {
    expectType<Equal<typeof tx, Tx>>()
    return tx.query('insert')
  })
  expectType<Equal<typeof rows, number>>()
})
onDatabase.on('contact.created', welcome).on('*.deleted', drop) // handlers that need no transaction

createReceiver({ secret: 'secret', store: blocking }).on('sync.failed', async (_event, context) => {
  expectType<Equal<typeof context, SyncTransactionContext<{ run(text: string): number }>>>()
  const rows = await context.transaction((db) => db.run('insert'))
  expectType<Equal<typeof rows, number>>()
  await context.transaction((db) => void db.run('insert'))
  // @ts-expect-error work that waits
  await context.transaction(async (db) => db.run('insert'))
})

// @ts-expect-error the type of `events` was left out, so that '*' handlers would be promised an object for data
createReceiver<typeof models>({ secret: 'secret', models, events })
createReceiver<typeof models>({ secret: 'secret', models, events: {} })

async function save(event: EventOf<typeof models, 'contact.created'>, context: ContextOf<typeof transactional>) {
  await context.transaction((tx) => tx.query(event.data.record._id))
}
onDatabase.on('contact.created', save)
// @ts-expect-error a handler that needs a transaction, on a store that has none
receiver.on('contact.created', save)
receiver.on('contact.created', (_event, context) => {
  // @ts-expect-error the same
  context.transaction(() => 1)
})
createReceiver({ secret: 'secret', store: memoryStore() }).on('*', (_event, context) => {
  expectType<Equal<typeof context, HandlerContext>>()
})
createReceiver({ secret: 'secret', store: process.env.DATABASE ? transactional : memoryStore() }).on(
  '*',
  (_event, context) => {
    // @ts-expect-error it may be the store that has none
    context.transaction(() => 1)
    if ('transaction' in context) context.transaction((tx) => tx.query('insert'))
  },
)
// A receiver with transactions can be used wherever one is expected.
const register = (any: Receiver<typeof models, typeof events>) => any.on('contact.created', welcome)
register(onDatabase)

// ── A delivery of the test kit ─────────────────────────────────────────────────────────────────────────────────────────

// @ts-expect-error a delivery has a body and a signature
receiver.receive(signed('{}', { secret: 'secret' }).body)

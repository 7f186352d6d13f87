/**
 * The whole main job on this machine: the emulated service, and an Express app that receives its deliveries over real HTTP. Each attempt is
 * shown as the service sees it. Exits 0 if every step succeeded, 1 if not; `--keep` leaves it running.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { DeadLetter, type Receiver } from 'postern'
import { createClient } from 'postern/client'
import { type FeedMessage, startEmulator } from 'postern/emulator'
import { events, signed } from 'postern/testing'
import { buildApp } from './app.ts'
import { openInbox } from './inbox.ts'
import { buildReceiver, type Work } from './receiver.ts'
import { heading, line, paint, remark } from './show.ts'

const isKept = readArguments()
/** The emulator that commands look for. */
const DEFAULT_PORT = 4010
const RETRY_SCALE = 6_000 // the delays of 30 s, 5 min, 30 min and 2 h take 5 ms, 50 ms, 0.3 s and 1.2 s
const TYPES = ['contact.created', 'contact.updated', 'contact.deleted', 'finance.payment.failed']

const logger = {
  debug: () => {},
  info: () => {},
  warn: (_fields: object, text: string) => remark(text),
  error: () => {},
}

/** Simulates a database, which fails as often as it is told to. */
const done: string[] = []
let failuresLeft = 0
const work: Work = {
  saveContact: async (id) => finish(`save ${id}`),
  removeContact: async (id) => finish(`remove ${id}`),
  alert: async (text) => finish(text),
}
function finish(what: string): void {
  if (failuresLeft-- > 0) throw new Error('the database is down')
  done.push(what)
}

// The service, and the app.
const options = { retryScale: RETRY_SCALE, logger }
const service = isKept
  ? await startEmulator({ ...options, port: DEFAULT_PORT }).catch(() => startEmulator(options)) // the port may be in use
  : await startEmulator(options)
let secret: string | undefined
const receiver = buildReceiver(() => secret, work, logger)
const { server, url } = await serve(receiver)

// The app logs in, and registers its webhook by the service's API, which returns the secret only once.
const client = createClient({ baseUrl: service.url, email: 'ada@acme.test', password: 'password', logger })
const registration = await client.webhooks.create({ url, events: TYPES })
secret = registration.secret
const { webhook } = registration
console.log(`emulator   ${service.url}   account acme   logged in`)
console.log(`receiver   ${url}`)
console.log(`webhook    ${webhook.id} ${webhook.active ? 'active' : 'paused'}   ${TYPES.join(', ')}`)
service.subscribe(show)

heading('A contact is created, changed and deleted.')
const { _id } = service.records.create('contact', { firstName: 'Zoë', email: 'zoe@example.test' })
await settled()
service.records.update('contact', _id, { email: 'new@example.test' })
await settled()
service.records.delete('contact', _id)
await settled()

heading('The service delivers an event a second time.')
const [first] = service.deliveries.list()
if (first !== undefined) service.deliveries.resend(first.id)
await settled()

heading('Somebody else sends an event.')
const forged = signed(events.contact.created(), { secret: 'not the secret' })
const refusal = await fetch(forged.request(url))
if (refusal.status !== 401) complain(`a forged delivery was answered ${refusal.status}`)

heading(
  `The database is down for two attempts. The service comes again after 30 s and 5 min, here ${RETRY_SCALE} times as fast.`,
)
failuresLeft = 2
service.records.create('contact', { firstName: 'Ada', email: 'ada@example.test' })
await settled()

heading('It is down for all five attempts, and the delivery has failed. Then somebody has it retried by hand.')
failuresLeft = 5
service.events.emit({ type: 'finance.payment.failed' })
await settled()
for await (const delivery of client.deliveries(webhook.id))
  if (delivery.state === 'failed') await client.retry(webhook.id, delivery.id)
await settled()

heading(
  'An app with an inbox answers once an event is on disk. The handler takes half a second here, and could take hours.',
)
let importSecret: string | undefined
let hasCustomer = true
const later = openInbox(() => importSecret, importList, logger)
const importServer = await serve(later.receiver)
const importWebhook = await client.webhooks.create({ url: importServer.url, events: ['import.completed'] })
importSecret = importWebhook.secret
service.events.emit({ type: 'import.completed' })
await settled()
await untilHandled()

heading('An event whose customer is missing is a dead letter. Then somebody adds the customer, and replays it.')
hasCustomer = false
service.events.emit({ type: 'import.completed' })
await settled()
while ((await later.inbox.counts()).dead === 0) await sleep(10)
hasCustomer = true
for (const { key } of (await later.inbox.list('dead')).entries) await later.inbox.replay(key)
await untilHandled()

summarise()
if (isKept) await stayUntilInterrupted()
await service.close()
await Promise.all([receiver.close(), later.close()])
for (const each of [server, importServer.server]) {
  each.close()
  each.closeAllConnections()
}
if (isKept) console.log('\nBye. The emulator, the receivers and the worker are closed.')

/** Returns whether to keep everything running at the end. */
function readArguments(): boolean {
  try {
    return parseArgs({ options: { keep: { type: 'boolean', default: false } } }).values.keep
  } catch (error) {
    console.error(`${(error as Error).message}\nUsage: npm start [-- --keep]   --keep leaves it running`) // parseArgs throws nothing else
    process.exit(2)
  }
}

async function serve(to: Pick<Receiver, 'handle'>) {
  const listening = createServer(buildApp(to)).listen(0, '127.0.0.1')
  await once(listening, 'listening')
  const { port } = listening.address() as AddressInfo // a TCP server that listens
  return { server: listening, url: `http://127.0.0.1:${port}/webhooks` }
}

async function importList(id: string): Promise<void> {
  await sleep(500)
  if (!hasCustomer) throw new DeadLetter('the customer does not exist')
  finish(`import ${id}`)
  remark(`a worker has handled ${id}`)
}

/** Resolves when the inbox is empty. */
async function untilHandled(): Promise<void> {
  for (;;) {
    const { waiting, running, dead } = await later.inbox.counts()
    if (waiting + running + dead === 0) return
    await sleep(10)
  }
}

/** The service's record of an attempt. */
function show(message: FeedMessage): void {
  if (message.type !== 'attempt') return
  const { attempt, delivery } = message
  line({
    type: delivery.eventType,
    eventId: delivery.eventId,
    step: attempt.number > 5 ? 'retry' : `${attempt.number}/5`,
    status: attempt.status,
    durationMs: attempt.durationMs,
    body: attempt.responseBody,
    nextInMs: delivery.nextAttemptAt && delivery.nextAttemptAt - attempt.at - attempt.durationMs,
    hasFailed: delivery.status === 'failed',
  })
}

/** Resolves when no delivery has another attempt. */
async function settled(): Promise<void> {
  while (service.deliveries.list().some(({ status }) => status === 'pending')) await sleep(10)
}

function summarise(): void {
  const deliveries = service.deliveries.list()
  const attempts = deliveries.reduce((sum, delivery) => sum + delivery.attempts.length, 0)
  for (const { eventType, status } of deliveries)
    if (status !== 'success') complain(`a delivery of ${eventType} has ${status}`)
  const eventCount = new Set(deliveries.map(({ eventId }) => eventId)).size
  if (done.length !== eventCount) complain(`${eventCount} events were handled ${done.length} times`)
  const verdict = process.exitCode === 1 ? paint('red', 'not as it should be') : paint('green', 'all as it should be')
  heading(
    `${eventCount} events, ${deliveries.length} deliveries, ${attempts} attempts; each event handled once; ${verdict}`,
  )
}

function complain(text: string): void {
  process.exitCode = 1
  console.log(paint('red', text))
}

async function stayUntilInterrupted(): Promise<void> {
  const emulator = new URL(service.url).port === String(DEFAULT_PORT) ? '' : ` --emulator ${service.url}`
  const trigger = `npm run --silent postern -- trigger${emulator} --watch`
  console.log('\nIt goes on. In another terminal:')
  console.log(`  ${trigger} contact.created --set data.record.email=new@example.test`)
  console.log(`  ${trigger} finance.payment.failed --duplicate 3`)
  console.log('Ctrl-C ends it.')
  await once(process, 'SIGINT')
}

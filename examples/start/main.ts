/**
 * The main job, whole: an Express app receives signed deliveries over real HTTP on loopback. Each delivery is shown as it comes in,
 * with what became of it, and a summary at the end. Exits 0 if everything went as it should, 1 if not.
 */
import { once } from 'node:events'
import type { RequestListener, Server } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger, Outcome, WebhookEvent } from 'postern'
import { createEvents, signed, type Tamper } from 'postern/testing'
import { buildApp, buildAppThatKeepsBytes, buildAppWithParserInFront } from './app.ts'
import { describeOutcome, heading, line, note, paint } from './print.ts'
import { buildReceiver, type Crm } from './receiver.ts'

const SECRET = 'whsec_of_the_example'
const RETRY_AFTER_MS = 300 // the service waits 30 s

const FORGERIES: readonly (readonly [Tamper, string])[] = [
  ['other-secret', 'signed with a secret that is not ours:'],
  ['flip-bit', 'one bit changed on the way:'],
  ['reserialised', 'signature over the same JSON, written another way:'],
  ['no-header', 'not signed at all:'],
]

const events = createEvents()
const handlerRuns = new Map<string, number>()
const outcomes: Outcome[] = []
const servers: Server[] = []
let failuresLeft = 0

/** Stands for a database; one call fails on demand. */
const crm: Crm = {
  saveContact: async (id) => {
    await sleep(100)
    count(`saveContact ${id}`)
  },
  removeFromIndex: async (model, id) => count(`removeFromIndex ${model} ${id}`),
  forecast: async (title) => count(`forecast ${title}`),
  alert: async () => {
    if (failuresLeft-- > 0) throw new Error('the pager service is down')
    count('alert')
  },
}

/** What the receiver has to say to its owner, one line each. */
const logger: Logger = {
  debug: () => {},
  info: () => {},
  warn: (_fields, message) => note(message),
  error: (_fields, message) => note(message),
}

const newReceiver = () =>
  buildReceiver(SECRET, crm, {
    logger,
    onOutcome: (outcome, { durationMs }) => {
      outcomes.push(outcome)
      line(describeOutcome(outcome, durationMs))
    },
  })

async function main(): Promise<void> {
  const receiver = newReceiver()
  const url = await listen(buildApp(receiver))
  heading(`receiver at ${url}, handling ${receiver.eventTypes().types.join(', ')} and *.deleted`)

  heading('events of several types')
  expectStatus(200, await send(url, events.contact.created({ email: 'zoe@example.test' })))
  expectStatus(200, await send(url, events.contact.updated({ email: 'new@example.test' })))
  expectStatus(200, await send(url, events.model('opportunity').created({ title: 'Roof', amount: 12_000 })))
  expectStatus(200, await send(url, events.model('financeInvoice').deleted()))
  expectStatus(200, await send(url, events.syncCompleted()))

  heading('forged, changed and unsigned requests')
  for (const [tamper, caption] of FORGERIES) {
    note(caption)
    expectStatus(401, await send(url, events.contact.created(), tamper))
  }

  heading('one event, 20 deliveries at once')
  const popular = events.contact.created()
  const answers = await Promise.all(Array.from({ length: 20 }, () => send(url, popular)))
  for (const answer of answers) expectStatus(200, answer)
  expectRuns(`saveContact ${popular.data.record._id}`, 1)

  heading(`a handler that fails once; the service comes again (after 30 s; here after ${RETRY_AFTER_MS} ms)`)
  failuresLeft = 1
  const payment = events.paymentFailed()
  expectStatus(500, await send(url, payment))
  await sleep(RETRY_AFTER_MS)
  expectStatus(200, await send(url, payment))
  expectRuns('alert', 1)

  heading('the usual mistake: express.json() in front of the receiver')
  const misplaced = await listen(buildAppWithParserInFront(newReceiver()))
  expectStatus(500, await send(misplaced, events.contact.created()))
  heading('the same parser, told to keep the bytes')
  const kept = await listen(buildAppThatKeepsBytes(newReceiver()))
  expectStatus(200, await send(kept, events.contact.created()))

  await receiver.close()
  summarise()
}

async function listen(app: RequestListener): Promise<string> {
  const server = createServer(app).listen(0, '127.0.0.1')
  await once(server, 'listening')
  servers.push(server)
  const { port } = server.address() as AddressInfo // a TCP server that listens
  return `http://127.0.0.1:${port}/webhooks`
}

/** Does what the service does: one POST of exact bytes, with their signature. */
async function send(url: string, event: WebhookEvent<string, unknown>, tamper: Tamper = 'none'): Promise<number> {
  const response = await fetch(signed(event, { secret: SECRET, tamper }).request(url))
  await response.text()
  return response.status
}

function count(what: string): void {
  handlerRuns.set(what, (handlerRuns.get(what) ?? 0) + 1)
}

function expectStatus(expected: number, status: number): void {
  if (status !== expected) complain(`expected status ${expected}, got ${status}`)
}

function expectRuns(what: string, expected: number): void {
  const runs = handlerRuns.get(what) ?? 0
  if (runs === expected) note(`handler ran ${runs === 1 ? 'once' : `${runs} times`}`)
  else complain(`expected ${expected} run of "${what}", got ${runs}`)
}

function complain(text: string): void {
  process.exitCode = 1
  note(paint('red', text))
}

function summarise(): void {
  const counts = new Map<string, number>()
  for (const { outcome, status } of outcomes)
    counts.set(`${outcome} (${status})`, (counts.get(`${outcome} (${status})`) ?? 0) + 1)
  heading(`${outcomes.length} deliveries: ${[...counts].map(([what, times]) => `${times} ${what}`).join(', ')}`)
  const runs = [...handlerRuns.values()].reduce((sum, times) => sum + times, 0)
  const verdict = process.exitCode === 1 ? paint('red', 'not as it should be') : paint('green', 'all as it should be')
  heading(`${runs} handler runs for ${handlerRuns.size} pieces of work; ${verdict}`)
}

try {
  await main()
} finally {
  for (const server of servers) {
    server.close()
    server.closeAllConnections()
  }
}

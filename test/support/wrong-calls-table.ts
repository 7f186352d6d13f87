import { createSecretKey } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { Inbox } from 'postern'
import * as core from 'postern'
import { bullmqInbox } from 'postern/bullmq'
import * as check from 'postern/check'
import * as api from 'postern/client'
import { startEmulator } from 'postern/emulator'
import { captureRawBody, expressHandler } from 'postern/express'
import { fastifyPlugin } from 'postern/fastify'
import { nextApiHandler, nextHandler } from 'postern/next'
import { nodeHandler } from 'postern/node'
import { instrument } from 'postern/otel'
import * as postgres from 'postern/postgres'
import { redisStore } from 'postern/redis'
import * as senders from 'postern/senders'
import * as sqlite from 'postern/sqlite'
import * as testing from 'postern/testing'
import { fetchHandler } from 'postern/web'
import { Options, type RightCall } from './wrong-calls.ts'

const options = (values: Readonly<Record<string, unknown>>) => new Options(values)
const nothing = () => {}
const always = () => true
const secret = 'test-secret'
const logger = testing.silentLogger
const clock = core.systemClock
const { signal } = new AbortController()
const url = 'http://localhost:3000/webhooks'
const target: testing.Target = { send: async () => ({ status: 200, headers: {}, body: '' }) }
const pool = { connect: nothing, on: nothing, query: nothing, end: nothing }
const inbox = {
  keepsLanes: true,
  put: nothing,
  work: nothing,
  counts: nothing,
  list: nothing,
  get: nothing,
  replay: nothing,
  drop: nothing,
}
const event = testing.events.contact.created()
const types = ['contact.created']
const report = { schema: 1, checks: [], summary: {}, target: url }

const ERROR = 'an error, which apps do not make'
const CONTRACT = 'a contract of the receiver, which calls it on the path of a delivery'
const BARE = 'takes no arguments'

/** Functions that take whatever they are given, each with its reason. A star stands for any text. */
export const ACCEPTING: Readonly<Record<string, string>> = {
  'index.PosternError': ERROR,
  'index.ConfigurationError': ERROR,
  'index.HandlerError': ERROR,
  'index.DeadLetter': ERROR,
  'index.RetryLater': ERROR,
  'client.ServiceError': ERROR,
  'models.contact*': 'a schema of zod',
  'index.systemClock.*': CONTRACT,
  'index.consoleLogger.*': 'prints what it is given',
  'testing.silentLogger.*': 'prints nothing',
  'senders.*Digest': 'reads what a sender sent',
  'senders.unixSeconds': 'reads what a sender sent',
  'senderProfile.*': CONTRACT,
  'express.captureRawBody': 'a parser of Express calls it, on the path of a delivery',
  'receiver.handle': CONTRACT,
  'receiver.report': CONTRACT,
  'receiver.replaced': CONTRACT,
  'receiver.receive': 'never rejects: the outcome refuses what is no delivery',
  'receiver.close':
    'an invalid option is reported, and the default used: a process that is about to exit cannot call again',
  'receiver.eventTypes': BARE,
  'manualClock().now': BARE,
  'manualClock().monotonic': BARE,
  'manualClock().next': BARE,
  'manualClock().setTimeout': CONTRACT,
  'manualClock().clearTimeout': CONTRACT,
  'handled.clear': BARE,
  'handled.check*': 'for the matchers',
  'handled.dispatched.*': 'a set, for the matchers',
  'handled.pending.*': 'a set, for the matchers',
  'testReceiver().handled.*': 'as of recordHandlers()',
  'client.clock.*': CONTRACT,
  '*Store().*': CONTRACT,
  '*Inbox().put': CONTRACT,
  '*Inbox().work': CONTRACT,
  '*Inbox().reportTo': CONTRACT,
  '*Inbox().counts': BARE,
  '*Inbox().migrate': BARE,
  '*Inbox().close': BARE,
  'bullmqInbox().findMissing': BARE,
  'target().send': 'a contract of the sender, which calls it',
  'probe().*': 'a contract of the checker, which calls it',
  'emulator.clock.now': BARE,
  'emulator.clock.monotonic': BARE,
  'emulator.clock.next': BARE,
  'emulator.clock.track': 'a contract of senders, which call it',
  'emulator.clock.*Timeout': CONTRACT,
  'emulator.accounts.list': BARE,
  'emulator.deliveries.whenIdle': BARE,
  'emulator.close': BARE,
}

type Calls = Readonly<Record<string, Omit<RightCall, 'of'> & Partial<RightCall>>>

const bound = (owner: object, method: string) => Reflect.get(owner, method).bind(owner)
const newReceiver = () => core.createReceiver({ secret, logger })
const withInbox = () => core.createReceiver({ secret, logger, inbox: inbox as never })
const newClient = () =>
  api.createClient({
    baseUrl: 'https://crm.example.test',
    email: 'a@b.test',
    password: 'p',
    maxRetries: 0,
    logger,
    fetch: async () => new Response('{"accessToken":"t"}'),
  })
const newSender = () => testing.createSender({ target, secret })

const folder = mkdtempSync(join(tmpdir(), 'postern-wrong-calls-'))
const database = sqlite.openSqlite(join(folder, 'app.db'))
const sqliteInbox = sqlite.sqliteInbox({ database })
const onPostgres = postgres.postgresInbox({ pool } as never)
const onRedis = bullmqInbox({ connection: 'redis://127.0.0.1:1' })
const emulator = await startEmulator({ port: false, clock: 'manual', logger })

/** Closes what this file opens. */
export async function closeAll(): Promise<void> {
  await Promise.all([emulator.close(), onRedis.close()])
  database.close()
  rmSync(folder, { recursive: true })
}

/** Objects that the functions return, by their paths. */
export const RETURNED: Readonly<Record<string, object>> = {
  receiver: newReceiver(),
  senderProfile: senders.github(),
  client: newClient(),
  'manualClock()': testing.manualClock(),
  handled: testing.recordHandlers(newReceiver()),
  'testReceiver()': testing.testReceiver(newReceiver()),
  'signed()': { request: testing.signed('x', { secret }).request },
  sender: newSender(),
  'memoryStore()': core.memoryStore(),
  'sqliteStore()': sqlite.sqliteStore({ database }),
  'postgresStore()': postgres.postgresStore({ pool } as never),
  'sqliteInbox()': sqliteInbox,
  'postgresInbox()': onPostgres,
  'bullmqInbox()': onRedis,
  emulator,
  'target()': testing.urlTarget(url),
  'probe()': check.urlProbe(url),
}

const adapter = (of: unknown, own: object = {}): RightCall => ({
  of: () => of,
  given: { receiver: newReceiver(), options: options({ source: nothing, waitUntil: nothing, ...own }) },
})

const receiving = {
  secret,
  store: core.memoryStore(),
  name: 'shop',
  lane: nothing,
  maxBodyBytes: 1_000,
  maxBufferedBytes: 10_000_000,
  deadlineMs: 1_000,
  handlerTimeoutMs: 1_000,
  leaseMs: 5_000,
  maxInFlight: 10,
  clock,
  logger,
  onOutcome: nothing,
  onError: nothing,
  onDeadLetter: nothing,
  inbox,
}

const CORE: Calls = {
  'index.createReceiver': {
    given: {
      options: options({
        ...receiving,
        models: { contact: core.record() },
        events: { 'invoice.paid': core.record() },
        signatureHeader: 'X-Signature',
        maxAge: 86_400_000,
      }),
    },
    needed: 1,
    told: /createReceiver|signing secret/,
    except: { secret: '*' },
  },
  'index.record': { given: { schema: {} }, needed: 0 },
  'index.sealedInbox': {
    given: { inbox, options: options({ keys: { current: nothing, find: nothing } }) },
    needed: 2,
    except: { keys: ['x y'] }, // checked as keys
  },
  'index.dropAll': {
    given: {
      inbox,
      options: options({ accountKey: 'acme', isOfType: always, dryRun: true, onProgress: nothing }),
    },
    needed: 2,
  },
  'index.memoryStore': {
    given: { options: options({ max: 10, retentionMs: 1e8, clock }) },
  },
  'index.winstonLogger': { given: { logger: console } },
  'index.sign': {
    given: { body: 'x', secret },
    told: /body|signing secret/,
    except: { secret: '*' },
  },
  'index.verify': {
    given: { body: 'x', header: 'sha256=', secrets: [secret] },
    told: /body|secret|header/,
    except: { secrets: '*' },
  },
  'index.openEvent': {
    given: { body: 'x', header: 'sha256=', secrets: [secret] },
    told: /body|secret|header/,
    except: { secrets: '*' },
  },
  'index.receiveFrom': {
    given: {
      sender: senders.github(),
      options: options({ ...receiving, events: { push: core.record() } }),
    },
    needed: 2,
    told: /receiveFrom|signing secret|sender/,
    except: { secret: '*' },
  },
  'senders.github': { given: { options: options({ once: 'id', account: () => undefined }) } },
  'senders.shopify': { given: { options: options({ once: 'id' }) } },
  'senders.standardWebhooks': {
    given: { options: options({ headers: 'svix', account: nothing, type: () => undefined, toleranceMs: 5_000 }) },
  },
  'senders.stripe': { given: { options: options({ toleranceMs: 5_000 }) } },
  'receiver.on': {
    of: () => bound(newReceiver(), 'on'),
    given: { pattern: 'contact.created', options: options({ name: 'x', order: 'latest' }), handler: nothing },
    told: /\.on\(|handler/,
  },
  'receiver.intercept': { of: () => bound(newReceiver(), 'intercept'), given: { interceptor: nothing } },
  'receiver.dispatch': { of: () => newReceiver().dispatch, given: { event, options: options({ waitMs: 5 }) } },
  'receiver.forget': {
    of: () => newReceiver().forget,
    given: { event },
    needed: 1,
  },
  'receiver.work': {
    of: () => withInbox().work,
    given: { options: options({ concurrency: 1, attempts: 1, delay: nothing }) },
  },
  'receiver.workOnce': {
    of: () => withInbox().workOnce,
    given: { options: options({ forMs: 1_000, max: 1, concurrency: 1, attempts: 1, delay: nothing }) },
  },
  'express.expressHandler': adapter(expressHandler),
  'fastify.fastifyPlugin': {
    of: () => (options: never) => fastifyPlugin({} as never, options),
    given: { options: options({ receiver: newReceiver(), url: '/x', source: nothing, waitUntil: nothing }) },
    needed: 1,
    // Without a receiver, the error says how to register the plugin. The others are Fastify's.
    except: { receiver: '*', prefix: '*', logLevel: '*', logSerializers: '*' },
  },
  'next.nextHandler': adapter(nextHandler),
  'next.nextApiHandler': adapter(nextApiHandler),
  'node.nodeHandler': adapter(nodeHandler, { path: '/webhooks' }),
  'web.fetchHandler': adapter(fetchHandler),
  'otel.instrument': {
    of: () => instrument,
    given: {
      receiver: newReceiver(),
      options: options({ tracerProvider: { getTracer: nothing }, meterProvider: { getMeter: nothing }, parent: true }),
    },
  },
}

const STORES: Calls = {
  'redis.redisStore': {
    of: () => redisStore,
    given: { options: options({ client: { sendCommand: nothing, on: nothing }, retentionMs: 1e8, prefix: 'p' }) },
    needed: 1,
  },
  'postgres.postgresStore': {
    given: { options: options({ pool, retentionMs: 1e8, schema: 's', table: 't', wrap: nothing }) },
    needed: 1,
  },
  'postgres.postgresInbox': {
    given: { options: options({ pool, deadLetterMs: 1e9, schema: 's', table: 't' }) },
    needed: 1,
  },
  'postgres.postgresSchema': {
    given: { options: options({ schema: 's', table: 't' }) },
  },
  'postgres.postgresInboxSchema': {
    given: { options: options({ schema: 's', table: 't' }) },
  },
  'sqlite.openSqlite': {
    given: {
      path: join(folder, 'x.db'),
      options: options({ driver: 'libsql', synchronous: 'full', busyTimeoutMs: 5 }),
    },
  },
  'sqlite.sqliteStore': {
    given: { options: options({ database, retentionMs: 1e8, table: 't', clock }) },
    needed: 1,
  },
  'sqlite.sqliteInbox': {
    given: { options: options({ database, deadLetterMs: 1e9, table: 't', clock }) },
    needed: 1,
  },
  'bullmq.bullmqInbox': {
    of: () => bullmqInbox,
    given: { options: options({ connection: 'redis://localhost', queue: 'q', prefix: 'p', deadLetterMs: 1e9 }) },
    needed: 1,
    except: { connection: [{}] },
  },
}

const signing = { secret, format: 'spaced', tamper: 'none', signatureHeader: 'X-A', seed: 1 }
const signingFrom = {
  sender: senders.github(),
  ...{ secret, format: 'spaced', tamper: 'none', seed: 1, type: 'a', id: 'b', accountKey: 'github' },
}
const NAMED_SECRET = /signed|signing secret/

const builder = (name: string, first: Readonly<Record<string, unknown>>, needed = 0): Calls => ({
  [`testing.events.${name}`]: {
    given: { ...first, envelope: options({ id: 'i', accountKey: 'a', timestamp: '2025-01-01T00:00:00Z' }) },
    needed,
  },
})
const { events } = testing
const record = { a: 1 }

const sending = (
  method: keyof testing.Sender,
  more: Readonly<Record<string, unknown>> = {},
  own: object = {},
): Calls => ({
  [`sender.${method}`]: {
    of: () => newSender()[method],
    given: { event, ...more, options: options({ ...signing, ...own }) },
    except: { secret: '*', seed: ['3x'], event: ['x y'], time: [7] },
  },
})

const matcher = (
  name: keyof typeof testing.matchers,
  received: unknown,
  more: Readonly<Record<string, unknown>>,
  needed: number,
): Calls => ({
  [`testing.matchers.${name}`]: {
    of: () => testing.matchers[name].bind({ isNot: true, equals: Object.is } as never),
    given: { received, ...more },
    needed,
    except: { delay: [7] },
  },
})
const delivery = { attempts: [], status: 'pending', next: undefined }

/** Options that the rows of another sender have. */
const OF_OTHERS = { sender: '*', type: '*', id: '*', accountKey: '*', at: '*' } as const

const TESTING: Calls = {
  'testing.createEvents': {
    given: { options: options({ seed: 1, clock }) },
    except: { seed: ['3x'] },
  },
  ...builder('contact.created', { record }),
  ...builder('contact.updated', { record }),
  ...builder('contact.deleted', { id: 'x' }),
  'testing.events.model': { given: { model: 'opportunity' } },
  ...builder('paymentCompleted', { data: record }),
  ...builder('paymentFailed', { data: record }),
  ...builder('syncCompleted', { data: record }),
  ...builder('syncFailed', { data: record }),
  ...builder('importCompleted', { data: record }),
  ...builder('exportCompleted', { data: record }),
  ...builder('raw', { type: 'a.created', data: record }, 1),
  'testing.createSender': {
    given: { options: options({ target, clock, ...signing }) },
    needed: 1,
    told: /createSender|signing secret/,
    except: { secret: '*', seed: ['3x'], ...OF_OTHERS },
  },
  'testing.signed': {
    given: { event, options: options(signing) },
    needed: 2,
    told: NAMED_SECRET,
    except: { secret: '*', seed: ['3x'], event: ['x y'], ...OF_OTHERS },
  },
  'testing.createSender of another sender': {
    given: { options: options({ target, clock, ...signingFrom }) },
    needed: 1,
    told: /createSender|signing secret/,
    except: { secret: '*', seed: ['3x'] },
  },
  'testing.signed of another sender': {
    given: { payload: { a: 1 }, options: options({ ...signingFrom, at: 5 }) },
    needed: 2,
    told: NAMED_SECRET,
    except: { secret: '*', seed: ['3x'], payload: [{}, 'x y'] },
  },
  'signed().request': { of: () => testing.signed('x', { secret }).request, given: { url }, needed: 0 },
  'testing.fetchTarget': {
    given: { handler: nothing, options: options({ path: '/x' }) },
  },
  'testing.fastifyTarget': {
    given: { app: { inject: nothing }, options: options({ path: '/x' }) },
  },
  'testing.nodeTarget': {
    given: { listener: nothing, options: options({ path: '/x' }) },
  },
  'testing.urlTarget': { given: { url } },
  'testing.manualClock': {
    given: { start: new Date() },
    needed: 0,
    except: { start: [7] },
  },
  'manualClock().advance': {
    of: () => bound(testing.manualClock(), 'advance'),
    given: { by: '30s' },
    except: { by: [7] },
  },
  'manualClock().track': {
    of: () => bound(testing.manualClock(), 'track'),
    given: { work: Promise.resolve() },
  },
  'testing.recordHandlers': { given: { receiver: newReceiver() } },
  'testing.testReceiver': { given: { receiver: newReceiver() } },
  'testReceiver().dispatch': {
    of: () => testing.testReceiver(newReceiver()).dispatch,
    given: { event },
  },
  'handled.runsOf': {
    of: () => bound(testing.recordHandlers(newReceiver()), 'runsOf'),
    given: { eventId: 'x' },
  },
  'handled.runsOfType': {
    of: () => bound(testing.recordHandlers(newReceiver()), 'runsOfType'),
    given: { type: 'contact.created' },
  },
  'handled.failTimes': {
    of: () => bound(testing.recordHandlers(newReceiver()), 'failTimes'),
    given: { count: 1 },
  },
  ...sending('send'),
  ...sending('duplicate', { count: 2 }),
  ...sending('concurrently', { count: 2 }),
  'sender.outOfOrder': {
    of: () => newSender().outOfOrder,
    given: { events: [event], options: options(signing) },
    except: { secret: '*', seed: ['3x'], event: ['x y'] },
  },
  ...sending('chunked', { size: 2 }),
  ...sending('abortAfter', { time: '1s' }, { bytes: 1 }),
  ...sending('deliver', {}, { signal }),
  ...matcher('toBeAcknowledged', { status: 200 }, {}, 1),
  ...matcher('toBeRejected', { status: 400 }, { status: 401 }, 1),
  ...matcher('toHaveAttempts', delivery, { count: 1 }, 2),
  ...matcher('toHaveHandled', { runs: [] }, { type: 'a.created', partial: record }, 2),
  ...matcher('toHaveHandledOnce', { runs: [] }, { eventId: 'a' }, 2),
  ...matcher('toHaveScheduledNext', delivery, { delay: '30s' }, 2),
  'testing.storeSuite': {
    given: {
      makeStore: nothing,
      options: options({
        pass: nothing,
        isShared: true,
        hasOwnClock: true,
        outage: { begin: nothing, end: nothing },
        depth: 4,
        transaction: { write: nothing, has: nothing },
      }),
    },
  },
}

const CHECK: Calls = {
  'check.checkReceiver': {
    given: {
      target: url,
      options: options({
        secret,
        accountKey: 'a',
        signatureHeader: 'X-A',
        type: 'contact.*',
        timeoutMs: 1_000,
        patienceMs: 1,
        concurrency: 1,
        only: ['leak'],
        skip: ['leak'],
        probe: { runs: nothing, fail: nothing },
        allowRemote: false,
        signal,
        onProgress: nothing,
      }),
    },
    needed: 2,
    told: /checkReceiver|signing secret/,
    except: { secret: '*' },
  },
  'check.formatReport': {
    given: { report: { ...report }, format: 'json' },
  },
  'check.commandProbe': { given: { command: 'true' } },
  'check.urlProbe': { given: { url: new URL(url) } },
}

const keeper = { hasSecret: nothing, saveSecret: nothing }
const calling = (name: string, first: Readonly<Record<string, unknown>>, needed?: number): Calls => ({
  [`client.${name}`]: {
    given: { ...first, options: options({ signal }) },
    ...(needed !== undefined && { needed }),
  },
})
const fields = { url, events: types, active: true }

const CLIENT: Calls = {
  'client.createClient': {
    given: {
      options: options({
        baseUrl: 'https://crm.example.test',
        email: 'a@b.test',
        password: 'p',
        allowHttp: false,
        timeoutMs: 1_000,
        maxRetries: 1,
        maxWaitMs: 1_000,
        fetch: nothing,
        clock,
        random: nothing,
        logger,
        onWait: nothing,
      }),
    },
    needed: 1,
  },
  'client.ensureWebhook': {
    given: {
      client: newClient() as unknown,
      options: options({ url, events: types, description: 'd', replaceActive: true, signal, ...keeper }),
    },
    needed: 2,
  },
  'client.rotateWebhook': {
    given: {
      client: newClient() as unknown,
      options: options({
        webhookId: 'w',
        url,
        overlapMs: 1,
        pollMs: 1,
        waitMs: 1,
        giveUpFailed: true,
        onProgress: nothing,
        signal,
        ...keeper,
      }),
    },
    needed: 2,
  },
  'client.replayFailed': {
    given: {
      client: newClient() as unknown,
      options: options({
        webhookId: 'w',
        since: new Date(),
        filter: always,
        limit: 1,
        concurrency: 1,
        dryRun: true,
        journal: { read: nothing, append: nothing },
        pollMs: 1,
        waitMs: 1,
        onProgress: nothing,
        signal,
      }),
    },
    needed: 2,
  },
  'client.findDrift': {
    given: { handled: options({ types, open: true }), subscribed: types },
  },
  ...calling('contacts', {}),
  ...calling('deliveries', { webhookId: 'w' }),
  ...calling('retry', { webhookId: 'w', deliveryId: 'd' }),
  ...calling('webhooks.create', { webhook: options({ ...fields, description: 'd' }) }, 1),
  ...calling('webhooks.list', {}),
  ...calling('webhooks.get', { id: 'w' }),
  ...calling('webhooks.update', { id: 'w', changes: options(fields) }, 2),
  ...calling('webhooks.pause', { id: 'w' }),
  ...calling('webhooks.resume', { id: 'w' }),
  ...calling('webhooks.delete', { id: 'w' }),
}

const looking = (path: string, inbox: Inbox): Calls => ({
  [`${path}.list`]: {
    of: () => bound(inbox, 'list'),
    given: { state: 'dead', options: options({ limit: 1, after: '' }) },
  },
  [`${path}.get`]: { of: () => bound(inbox, 'get'), given: { key: 'k' } },
  [`${path}.replay`]: { of: () => bound(inbox, 'replay'), given: { key: 'k' } },
  [`${path}.drop`]: { of: () => bound(inbox, 'drop'), given: { key: 'k' } },
})

/** @param first arguments before the options, which name the account */
const emulating = (name: string, first: Readonly<Record<string, unknown>>, own: object = {}): Calls => ({
  [`emulator.${name}`]: {
    given: { ...first, options: options({ accountKey: 'acme', ...own }) },
  },
})
const plain = (name: string, given: Readonly<Record<string, unknown>>, needed?: number): Calls => ({
  [`emulator.${name}`]: { given, ...(needed !== undefined && { needed }) },
})
const registration = { url, events: types, description: 'd', active: true }
const emitted = options({
  type: 'a.created',
  data: { record: { _id: 'i' } },
  id: 'i',
  timestamp: '2025-01-01T00:00:00Z',
  accountKey: 'acme',
  model: 'a',
  action: 'created',
})

const EMULATOR: Calls = {
  'emulator.startEmulator': {
    of: () => startEmulator,
    given: {
      options: options({
        port: false,
        host: 'localhost',
        hostAllow: ['crm'],
        clock,
        retryScale: 1,
        deadline: '1s',
        tokenTtl: '1s',
        rateLimit: '1/1s',
        loginRateLimit: '1/1s',
        format: 'spaced',
        signatureHeader: 'X-A',
        debugHeaders: true,
        ordered: true,
        faults: { fail: 1 },
        seed: 1,
        dialect: 'default',
        devToken: 'x'.repeat(16),
        assume: { listBody: 'items' },
        accounts: [],
        database,
        inbox,
        logger,
      }),
    },
    except: { port: [1], seed: ['3x'], deadline: [7], tokenTtl: [7] },
  },
  'emulator.startEmulator faults': {
    of: () => (faults: object) => startEmulator({ port: false, faults }),
    given: { faults: options({ fail: 1, duplicate: 1, shuffle: true, latency: '1s' }) },
    told: /startEmulator/,
    except: { latency: [7] },
  },
  ...plain('accounts.add', {
    account: options({ key: 'shop', email: 'a@b.test', password: 'p' }),
  }),
  ...emulating('webhooks.create', { fields: options(registration) }, { secret }),
  ...emulating('webhooks.list', {}),
  ...plain('webhooks.get', { id: 'w' }),
  ...plain('webhooks.update', { id: 'w', fields: options(registration) }, 2),
  ...plain('webhooks.pause', { id: 'w' }),
  ...plain('webhooks.resume', { id: 'w' }),
  ...plain('webhooks.delete', { id: 'w' }),
  ...plain('deliveries.list', {
    filter: options({ webhookId: 'w', eventId: 'e' }),
  }),
  ...plain('deliveries.get', { id: 'd' }),
  ...plain('deliveries.retry', { id: 'd' }),
  ...plain('deliveries.resend', {
    id: 'd',
    options: options({ body: 'b', sign: 'valid' }),
  }),
  ...emulating('records.list', { model: 'contact' }),
  ...emulating('records.get', { model: 'contact', id: 'i' }),
  ...emulating('records.create', { model: 'contact', fields: { x: 1 } }),
  ...emulating('records.update', { model: 'contact', id: 'i', fields: { x: 1 } }),
  ...emulating('records.delete', { model: 'contact', id: 'i' }),
  ...emulating('events.emit', { event: emitted }),
  ...emulating('events.emitMany', { event: emitted, count: 2 }),
  ...plain('events.sampleOf', { type: 'a.created' }),
  ...plain('reset', {}),
  ...emulating('login', {}),
  ...plain('fetch', { request: new Request(url) }),
  ...plain('subscribe', { listener: nothing }),
  'emulator.clock.advance': { given: { by: '30s' }, except: { by: [7] } },
}

/** Objects in which a row without a function finds it, by its path. */
const OWNERS = { index: core, senders, postgres, sqlite, testing, check, client: { ...api, ...newClient() }, emulator }
const findFunction = (path: string) => path.split('.').reduce<object>((owner, name) => Reflect.get(owner, name), OWNERS)

const ROWS: Calls = {
  ...CORE,
  ...STORES,
  ...looking('sqliteInbox()', sqliteInbox),
  ...looking('postgresInbox()', onPostgres),
  ...looking('bullmqInbox()', onRedis),
  ...TESTING,
  ...CHECK,
  ...CLIENT,
  ...EMULATOR,
}

/** The functions with right arguments, by the entry that exports them, or by what has the method. */
export const CALLS: Readonly<Record<string, RightCall>> = Object.fromEntries(
  Object.entries(ROWS).map(([path, row]) => [path, { of: () => findFunction(path.replace(/ .*/, '')), ...row }]),
)

const crm = core.createReceiver({ secret, logger })
/** An inbox that lists one event of each state. */
const listing = { ...inbox, list: async () => ({ entries: [{ key: 'k', accountKey: 'acme', type: 'a' }] }) } as never

/** Names a call, makes it, and matches the words that name the mistake. */
type Mistake = readonly [string, () => unknown, RegExp]

const extra = <F extends (...args: never[]) => unknown>(call: F, ...args: readonly unknown[]) =>
  Reflect.apply(call as () => unknown, undefined, args)
const recorder = testing.recordHandlers(newReceiver())
const match = (name: keyof typeof testing.matchers, ...args: readonly unknown[]) =>
  Reflect.apply(testing.matchers[name], { isNot: false, equals: Object.is }, args as never)
const NAMES_OF_IOREDIS = { hots: 'host', prot: 'port', urll: 'url', uri: 'url', hostname: 'host', user: 'username' }
/** Options in the words of other libraries. */
const MISNAMED: readonly Mistake[] = [
  ...['maxBodySize', 'bodyLimit', 'limit'].map((name): Mistake => {
    const options: object = { secret, [name]: 5 }
    return [`createReceiver({ ${name} })`, () => core.createReceiver(options as never), /mean "maxBodyBytes"\?/]
  }),
  ...Object.entries(NAMES_OF_IOREDIS).map(([stray, meant]): Mistake => {
    const told = new RegExp(`connection has no option "${stray}"\\. Did you mean "${meant}"\\?`)
    return [`bullmqInbox({ connection: { ${stray} } })`, () => bullmqInbox({ connection: { [stray]: 'x' } }), told]
  }),
]

/** Values of an option of a connection that no server has. */
const PLACES = { port: Number.NaN, db: -1, host: 7 }
const closed = core.createReceiver({ secret, logger, inbox: inbox as never })
await closed.close()
/** Arguments behind the last one that would lose what they say. */
const LEFT_OVER: readonly Mistake[] = [
  [
    'dropAll(inbox, options, { dryRun })',
    () => extra(core.dropAll, listing, { accountKey: 'acme' }, { dryRun: true }),
    /all options go into one object/,
  ],
  ['verify(body, header, secret, seconds)', () => extra(core.verify, 'x', null, secret, 300), /no time is judged/],
  [
    'openEvent(body, header, new, old)',
    () => extra(core.openEvent, 'x', null, secret, 'old'),
    /several of them are one list/,
  ],
  [
    'database.exec(sql, [1])',
    () => extra(bound(database, 'exec'), 'SELECT ?', [1]),
    /exec\(\) takes no parameters: use prepare/,
  ],
]
/** Calls of engines that fail immediately. */
const AWAY: readonly Mistake[] = [
  ...[postgres.postgresStore, postgres.postgresInbox].map((make): Mistake => {
    const migrate = () => make({ pool: new pg.Pool({ port: 1 }) }).migrate()
    return [
      `${make.name}().migrate() without a server`,
      migrate,
      new RegExp(`${make.name}: migrate\\(\\) could not reach the database: .*ECONNREFUSED`),
    ]
  }),
  ...[true, undefined, new Date(), [1]].map((value): Mistake => {
    return [
      `a statement of libsql with ${String(value)}`,
      () =>
        sqlite
          .openSqlite(':memory:', { driver: 'libsql' })
          .prepare('SELECT ?')
          .get(value as never),
      /Parameter 1 is .*; SQLite stores numbers, text, bytes and null/,
    ]
  }),
]
/** Secrets and bodies in other forms than text and Uint8Array. */
const FORMS: readonly Mistake[] = [
  ...[
    createSecretKey(Buffer.from(secret)),
    new ArrayBuffer(8),
    new Map([['acme', secret]]),
    new URL(url),
    Object(secret),
  ].map((given): Mistake => {
    const tag = Object.prototype.toString.call(given).slice(8, -1)
    return [
      `createReceiver(${tag})`,
      () => core.createReceiver({ secret: given as never }),
      new RegExp(`of type object \\(${tag}\\); give text or bytes`),
    ]
  }),
  [
    'createReceiver({ secret: ArrayBuffer })',
    () => core.createReceiver({ secret: new ArrayBuffer(8) as never }),
    /of an ArrayBuffer, new Uint8Array\(secret\)/,
  ],
  [
    'createReceiver({ secret: secrets by tenant })',
    () => core.createReceiver({ secret: { acme: secret } as never }),
    /no field "acme".*of several accounts are a list/,
  ],
  [
    'receiveFrom(PEM)',
    () => core.receiveFrom(senders.github(), { secret: '-----BEGIN PRIVATE KEY-----\nx' }),
    /a certificate in PEM/,
  ],
  [
    'receiveFrom(a secret with a comment)',
    () => core.receiveFrom(senders.stripe(), { secret: 'whsec_5f1d3a # local' }),
    /has a comment behind it/,
  ],
  [
    'verify(ArrayBuffer)',
    () => core.verify(new ArrayBuffer(8) as never, null, secret),
    /of an ArrayBuffer, new Uint8Array\(body\)/,
  ],
]
/** Calls of a receiver that is closed, and of inboxes by the id of an event. */
const TOO_LATE: readonly Mistake[] = [
  ['work() after close()', () => closed.work(), /receiver\.work: this receiver is closed/],
  ['workOnce() after close()', () => closed.workOnce({ forMs: 1_000 }), /receiver\.workOnce: this receiver is closed/],
  ['on() after close()', () => closed.on('*', nothing), /\.on\(\): this receiver is closed/],
]
const BY_ID: readonly Mistake[] = [sqliteInbox, onPostgres, onRedis].flatMap((one) =>
  (['replay', 'drop'] as const).map((method): Mistake => {
    const told = new RegExp(`inbox\\.${method}: key is "${event.id}"; give the key of an entry of list\\(\\)`)
    return [`inbox.${method}(event.id)`, () => one[method](event.id), told]
  }),
)

/** Calls of the test kit with an argument that none of them reads. */
const BEHIND: readonly Mistake[] = Object.entries({
  'signed(event, { secret }, { tamper })': () => extra(testing.signed, event, { secret }, { tamper: 'flip-bit' }),
  'signed().request(url, { headers })': () => extra(testing.signed(event, { secret }).request, url, { headers: {} }),
  'createSender({ target, secret }, { clock })': () => extra(testing.createSender, { target, secret }, { clock }),
  'sender.send(event, {}, { tamper })': () => extra(newSender().send, event, {}, { tamper: 'flip-bit' }),
  'sender.deliver(event, {}, { signal })': () => extra(newSender().deliver, event, {}, { signal }),
  'createEvents({}, { clock })': () => extra(testing.createEvents, {}, { clock }),
  'nodeTarget(app, {}, path)': () => extra(testing.nodeTarget, nothing, {}, '/hooks'),
  'fetchTarget(handler, {}, path)': () => extra(testing.fetchTarget, nothing, {}, '/hooks'),
  'fastifyTarget(app, {}, path)': () => extra(testing.fastifyTarget, { inject: nothing }, {}, '/hooks'),
  'manualClock(start, { step })': () => extra(testing.manualClock, 0, { step: 5 }),
  "clock.advance('5s', '10s')": () => extra(testing.manualClock().advance, '5s', '10s'),
  'recordHandlers(receiver, { only })': () => extra(testing.recordHandlers, newReceiver(), { only: 'save' }),
  'testReceiver(receiver, { clock })': () => extra(testing.testReceiver, newReceiver(), { clock }),
  'dispatch(event, { waitMs })': () => extra(testing.testReceiver(newReceiver()).dispatch, event, { waitMs: 5 }),
  'handled.failTimes(1, error, name)': () => extra(bound(recorder, 'failTimes'), 1, new Error('x'), 'save'),
  'handled.runsOf(id, name)': () => extra(bound(recorder, 'runsOf'), 'evt_1', 'save'),
  'handled.runsOfType(type, { email })': () => extra(bound(recorder, 'runsOfType'), 'sync.failed', { email: 'x' }),
  'storeSuite(makeStore, {}, { isShared })': () => extra(testing.storeSuite, nothing, {}, { isShared: false }),
  'toHaveHandled(type, {}, 2)': () => match('toHaveHandled', recorder, 'contact.created', {}, 2),
  'toHaveHandledOnce(id, { email })': () => match('toHaveHandledOnce', recorder, 'evt_1', { email: 'x' }),
  'toBeRejected(401, code)': () => match('toBeRejected', { status: 401 }, 401, 'signature_missing'),
  'toHaveAttempts(1, status)': () => match('toHaveAttempts', delivery, 1, 200),
  'toHaveScheduledNext(delay, time)': () => match('toHaveScheduledNext', delivery, '30s', 5),
}).map(([call, make]): Mistake => [call, make, /: .* follows its last argument; /])

/** Further mistakes. */
export const MISTAKES: readonly Mistake[] = [
  ...Object.entries(PLACES).map(([name, value]): Mistake => {
    const told = new RegExp(`bullmqInbox: connection: ${name} is ${value}; give`)
    return [
      `bullmqInbox({ connection: { ${name}: ${value} } })`,
      () => bullmqInbox({ connection: { [name]: value } }),
      told,
    ]
  }),
  ...BEHIND,
  ["events.model('*')", () => events.model('*'), /model is "\*"; give the key of a model/],
  [
    'events.paymentCompleted({ data })',
    () => events.paymentCompleted({ data: { amount: 5 } }),
    /data is an object; give the fields of the data itself, not \{ data \}/,
  ],
  [
    'handled.failTimes(1, { handler })',
    () => recorder.failTimes(1, { handler: 'save' }),
    /failTimes: error is an object; give an error, with which every handler fails/,
  ],
  [
    'handled.failTimes(1, () => error)',
    () => recorder.failTimes(1, () => new Error('x')),
    /failTimes: error is a function; give an error/,
  ],
  [
    'fetchTarget(an app of Express)',
    () => testing.fetchTarget(Object.assign(nothing.bind(null), { listen: nothing }) as never),
    /on node:http, use nodeTarget\(app\)/,
  ],
  [
    'fetchTarget(handler without a Response)',
    () => testing.createSender({ target: testing.fetchTarget((() => ({ status: 200 })) as never), secret }).send(event),
    /the result of the handler is an object; give a Response/,
  ],
  [
    'clock.setTimeout(ms, callback)',
    () => extra(testing.manualClock().setTimeout, 5, nothing),
    /clock\.setTimeout: callback is 5; give a function/,
  ],
  ['toBeRejected(404)', () => match('toBeRejected', { status: 401 }, 404), /give a 4xx status but 404/],
  [
    'events.model(model, record)',
    () => extra(events.model, 'opportunity', { stage: 'won' }),
    /events\.model: an object follows its last argument; it takes one argument/,
  ],
  [
    'events.contact.created(record, envelope, more)',
    () => extra(events.contact.created, {}, {}, { id: 'evt_1' }),
    /events\.contact\.created: an object follows its last argument; it takes 2 arguments/,
  ],
  [
    'client.webhooks.pause(id, options, more)',
    () => extra(newClient().webhooks.pause, 'w', {}, { signal }),
    /client\.webhooks\.pause: an object follows/,
  ],
  [
    'startEmulator({ faults: a range in reverse })',
    () => startEmulator({ port: false, faults: { latency: ['500ms', '50ms'] } }),
    /latency: must be a duration, such as "200ms", or two, the shorter first/,
  ],
  [
    'signed(payload, { sender, at: seconds })',
    () => testing.signed({ id: 'evt_1' }, { sender: senders.stripe(), secret: 'whsec_5f1d3a', at: 1_795_908_000 }),
    /signed: at is 1795908000; give milliseconds since 1970, not seconds/,
  ],
  ...['webhookId', 'eventId'].map(
    (name): Mistake => [
      `deliveries.list({ ${name}: '' })`,
      () => emulator.deliveries.list({ [name]: '' }),
      new RegExp(`${name} is empty; leave it out to list all, or give the id`),
    ],
  ),
  ...['webhookId', 'eventId'].map((name): Mistake => {
    const list = () => {
      emulator.webhooks.create({ url, events: ['sync.failed'] })
      const [id] = emulator.events.emit({ type: 'sync.failed' }).deliveries
      return emulator.deliveries.list({ [name]: id })
    }
    return [`deliveries.list({ ${name}: a delivery })`, list, new RegExp(`${name} is the id of a delivery; .*get`)]
  }),
  ['handle(a request of Fetch)', () => crm.handle(new Request(url) as never), /fetchHandler\(receiver\)/],
  [
    "dispatch('contact.created', { record })",
    () => crm.dispatch('contact.created' as never, { record: {} } as never),
    /It takes one object, \{ id, type, timestamp, accountKey, data \}/,
  ],
  ['dispatch(text)', () => crm.dispatch(JSON.stringify(event) as never), /Parse text before/],
  [
    'createReceiver({ secret }, handlers)',
    () => Reflect.apply(core.createReceiver as () => unknown, undefined, [{ secret }, { 'contact.created': nothing }]),
    /an object follows its last argument; all options go into one object, and handlers into receiver\.on\(\)/,
  ],
  [
    'receiveFrom(sender, { secret }, { store })',
    () => Reflect.apply(core.receiveFrom, undefined, [senders.github(), { secret }, { store: {} }]),
    /an object follows its last argument/,
  ],
  [
    'on(pattern, options, handler, handler)',
    () => bound(newReceiver(), 'on')('contact.*', { name: 'a' }, nothing, nothing),
    /register each handler by a call of its own, with a name/,
  ],
  [
    'intercept(interceptor, interceptor)',
    () => bound(newReceiver(), 'intercept')(nothing, nothing),
    /register each interceptor by a call of its own/,
  ],
  ['on([])', () => crm.on([] as never, nothing), /not an empty list/],
  ['dispatch(a signed delivery)', () => crm.dispatch(testing.signed('{}', { secret }) as never), /not an event/],
  ['nextHandler(promise)', () => nextHandler(Promise.resolve(crm) as never), /got a promise.* await it/],
  ['nextHandler(createReceiver)', () => nextHandler(core.createReceiver as never), /got a function, which is not/],
  ['hexDigest(bytes)', () => senders.hexDigest(Buffer.alloc(32) as never), /hexDigest takes the text of a header/],
  ['base64Digest(bytes)', () => senders.base64Digest(Buffer.alloc(32) as never), /base64Digest takes the text/],
  ['signed({ header })', () => testing.signed(event, { secret, header: 'X' } as never), /mean "signatureHeader"/],
  ['signed({ secret }, event)', () => testing.signed({ secret } as never, event as never), /the event comes first/],
  ['signed({ secret }, text)', () => testing.signed({ secret } as never, '{}' as never), /the event comes first/],
  [
    'signed({ sender, secret }, payload)',
    () => testing.signed({ sender: senders.github(), secret }, { a: 1 } as never),
    /the event comes first/,
  ],
  ...(
    [
      [senders.github, 'issue.opened', 'issues.opened'],
      [senders.github, 'Issues.opened', 'issues.opened'],
      [senders.shopify, 'orders/created', 'orders/create'],
    ] as const
  ).map(([sender, type, spelt]): Mistake => {
    const make = () => testing.signed('{}', { sender: sender() as never, secret, type: type as never })
    return [`signed({ type: '${type}' })`, make, new RegExp(`type is "${type}", which .* spells "${spelt}"`)]
  }),
  ['signed().request(no scheme)', () => testing.signed('x', { secret }).request('localhost:3/x'), /begins with http/],
  [
    'urlProbe(no scheme)',
    () => check.urlProbe('localhost:3'),
    /urlProbe: url is "localhost:3"; give a URL that begins/,
  ],
  ['checkReceiver(no scheme)', () => check.checkReceiver('localhost:3', { secret }), /is not a URL of HTTP/],
  [
    'findDrift(receiver)',
    () => api.findDrift(crm as never, types),
    /findDrift\(receiver\.eventTypes\(\), subscribed\)/,
  ],
  [
    'webhooks.create(url, events)',
    () => newClient().webhooks.create(url as never, types as never),
    /webhooks.create: it takes one object of options: \{ url, events \}/,
  ],
  [
    'webhooks.create({ events: [] })',
    () => newClient().webhooks.create({ url, events: [] }),
    /events is an empty list/,
  ],
  [
    'webhooks.create(types in one text)',
    () => newClient().webhooks.create({ url, events: ['contact.created, contact.updated'] }),
    /each type by itself, without blanks and commas, not "contact\.created, contact\.updated"/,
  ],
  [
    'webhooks.create(no scheme)',
    () => newClient().webhooks.create({ url: 'a.test:80/x', events: types }),
    /begins with http/,
  ],
  [
    'webhooks.create(a type of an unset variable)',
    () => newClient().webhooks.create({ url, events: ['contact.created', undefined as never] }),
    /a list of at least one event type; its item 1 is undefined/,
  ],
  [
    'findDrift(a type of an unset variable)',
    () => api.findDrift({ types, open: false }, [undefined] as never),
    /a list of strings; its item 0 is undefined/,
  ],
  [
    'dropAll(no answer)',
    () => core.dropAll(listing, { accountKey: 'acme', isOfType: (() => undefined) as never }),
    /isOfType returned undefined; give a function that returns true or false/,
  ],
  ['webhooks.update(id, {})', () => newClient().webhooks.update('w', {}), /changes has no value/],
  ['webhooks.update(undefined)', () => newClient().webhooks.update('w', { active: undefined }), /changes has no value/],
  ['emulator.reset(part)', () => Reflect.apply(emulator.reset, emulator, ['records']), /removes all data/],
  ['records.list(misspelt)', () => emulator.records.list('contcat'), /did you mean contact\?/],
  ['events.sampleOf(misspelt)', () => emulator.events.sampleOf('contact.create'), /did you mean contact\.created\?/],
  ['emit(data that is no object)', () => emulator.events.emit({ type: 'a.b', data: 'x' }), /data: must be an object/],
  [
    'emit(a record as data)',
    () => emulator.events.emit({ type: 'a.created', data: { x: 1 } }),
    /data: must be \{ record/,
  ],
  ['emit(no day)', () => emulator.events.emit({ type: 'a.b', timestamp: '2026-02-30T00:00:00Z' }), /must be ISO 8601/],
  [
    'emit(the text of a Date)',
    () => emulator.events.emit({ type: 'a.b', timestamp: String(new Date()) }),
    /timestamp: must be ISO 8601/,
  ],
  ['emit(no time)', () => emulator.events.emit({ type: 'a.b', timestamp: 'yesterday' }), /timestamp: must be ISO 8601/],
  [
    'emit(another model)',
    () => emulator.events.emit({ type: 'a.created', model: 'b' } as never),
    /model, action: must be those of the type "a\.created"/,
  ],
  [
    'createReceiver({ onDeadLetter })',
    () => core.createReceiver({ secret, onDeadLetter: nothing }),
    /there is none. Give/,
  ],
  ['createReceiver(megabytes)', () => core.createReceiver({ secret, maxBodyBytes: 10 }), /bytes from 100 to/],
  [
    'createReceiver(seconds)',
    () => core.createReceiver({ secret, handlerTimeoutMs: 60 }),
    /since it is in milliseconds/,
  ],
  [
    'createReceiver(blank account)',
    () => core.createReceiver({ secret: { secret, accountKey: ' acme' } }),
    /without blanks around it/,
  ],
  ['nodeHandler(pattern)', () => nodeHandler(crm, { path: '/webhooks/:tenant' }), /without a query or patterns/],
  ['nodeHandler(wildcard)', () => nodeHandler(crm, { path: '/webhooks/*' }), /without a query or patterns/],
  ['postgresStore(schema.table)', () => postgres.postgresSchema({ table: 'public.events' }), /give the part before it/],
  [
    'dropAll(async isOfType)',
    () => core.dropAll(listing, { accountKey: 'acme', isOfType: (async () => false) as never }),
    /isOfType returned a promise/,
  ],
  ['checkReceiver(only [])', () => check.checkReceiver(url, { secret, only: [] }), /leave no check to run/],
  [
    'checkReceiver(only and skip)',
    () => check.checkReceiver(url, { secret, only: ['leak'], skip: ['leak'] }),
    /no check/,
  ],
  ['checkReceiver(seconds)', () => check.checkReceiver(url, { secret, timeoutMs: 10 }), /in milliseconds/],
  [
    'checkReceiver(a model)',
    () => check.checkReceiver(url, { secret, type: 'contacts' }),
    /all of a model, "contact\.\*"/,
  ],
  [
    'checkReceiver(misspelt type)',
    () => check.checkReceiver(url, { secret, type: 'contact.create' }),
    /give "contact.created"/,
  ],
  [
    'fetchTarget(maker of a handler)',
    () => testing.createSender({ target: testing.fetchTarget((() => fetchHandler(crm)) as never), secret }).send(event),
    /the result of the handler is a function; give a Response/,
  ],
  ['checkReceiver(plural)', () => check.checkReceiver(url, { secret, type: 'contacts.*' }), /give "contact\.\*"/],
  [
    'contact.created({ emails })',
    () => events.contact.created({ emails: [] } as never),
    /did you mean "email"\? A field of the account goes by events\.raw\("contact\.created", \{ record \}\)/,
  ],
  [
    'contact.created({ record })',
    () => events.contact.created({ record: { a: 1 } } as never),
    /itself, not \{ record \}/,
  ],
  [
    'contact.created({ data })',
    () => events.contact.created({ data: { record: {} } } as never),
    /itself, not \{ data \}/,
  ],
  ['events.model(other case)', () => events.model('Contact'), /model is "Contact"; give contact/],
  [
    'manualClock(no day)',
    () => testing.manualClock('2025-02-30T00:00:00Z'),
    /start is "2025-02-30T00:00:00Z"; give ISO/,
  ],
  ['manualClock(seconds)', () => testing.manualClock(1_735_689_600), /milliseconds since 1970/],
  [
    'emulator.webhooks.update(id, {})',
    () => emulator.webhooks.update('w', {}),
    /give url, events, description or active/,
  ],
  ['emit(blank)', () => emulator.events.emit({ type: ' contact.created' }), /has a blank/],
  ['records.create(other case)', () => emulator.records.create('Contact', {}), /did you mean contact\?/],
  ['events.sampleOf(model)', () => emulator.events.sampleOf('contact'), /did you mean contact\.created\?/],
  ['emit(a Map as data)', () => emulator.events.emit({ type: 'a.b', data: new Map() }), /data: must be an object/],
  [
    'contact.created(a Map)',
    () => events.contact.created(new Map() as never),
    /record is an object \(Map\); give an object/,
  ],
  ['sqliteStore(database)', () => sqlite.sqliteStore(database as never), /takes one object of options: \{ database/],
  [
    'createReceiver({ store: memoryStore })',
    () => core.createReceiver({ secret: 's', store: core.memoryStore as never }),
    /store is a function; give .*, call it/,
  ],
  ['bullmqInbox(promise)', () => bullmqInbox({ connection: Promise.resolve({}) as never }), /is a promise; await it/],
  [
    'startEmulator(one key twice)',
    () =>
      startEmulator({
        port: false,
        accounts: ['a@b.test', 'c@b.test'].map((email) => ({ key: 'x', email, password: 'p' })),
      }),
    /accounts: must have different keys/,
  ],
  ['createReceiver({ webhookSecret })', () => core.createReceiver({ webhookSecret: 'x' } as never), /mean "secret"\?/],
  [
    'createReceiver({ sender })',
    () => core.createReceiver({ secret, sender: senders.github() } as never),
    /receiveFrom/,
  ],
  ['createReceiver({ retries })', () => core.createReceiver({ secret, retries: 3 } as never), /receiver\.work\(\)/],
  [
    'createReceiver({ path })',
    () => core.createReceiver({ secret, path: '/x' } as never),
    /nodeHandler\(receiver, \{ path/,
  ],
  ...MISNAMED,
  [
    'createReceiver({ toleranceMs })',
    () => core.createReceiver({ secret, toleranceMs: 5 } as never),
    /mean "maxAge"\?/,
  ],
  [
    'receiveFrom({ toleranceMs })',
    () => core.receiveFrom(senders.stripe(), { secret, toleranceMs: 5 } as never),
    /It is an option of the sender/,
  ],
  ['stripe({ maxAge })', () => senders.stripe({ maxAge: 5 } as never), /mean "toleranceMs"\?/],
  ...TOO_LATE,
  ...LEFT_OVER,
  ...AWAY,
  ...FORMS,
  [
    'dropAll({ isOfType }) that answers nothing',
    () => core.dropAll(listing, { accountKey: 'acme', isOfType: (() => undefined) as never }),
    /isOfType returned undefined; give a function that returns true or false/,
  ],
  [
    'dropAll({ onProgress }) that rejects',
    () => core.dropAll(listing, { accountKey: 'acme', onProgress: async () => Promise.reject(new Error('no disk')) }),
    /no disk/,
  ],
  ...BY_ID,
  ...[{ keyPrefix: 'x:' }, 'redis://127.0.0.1:1?keyPrefix=x'].map((connection): Mistake => {
    const told = /connection has a keyPrefix, with which BullMQ cannot work; give prefix/
    return ['bullmqInbox(keyPrefix)', () => bullmqInbox({ connection }), told]
  }),
  ['createReceiver({ log })', () => core.createReceiver({ secret, log: console } as never), /mean "logger"\?/],
  ['createReceiver({ idempotency })', () => core.createReceiver({ secret, idempotency: 1 } as never), /mean "store"\?/],
  ['createReceiver({ onEvent })', () => core.createReceiver({ secret, onEvent: nothing } as never), /receiver\.on\(\)/],
  [
    'nodeHandler({ maxBodyBytes })',
    () => nodeHandler(crm, { maxBodyBytes: 5 } as never),
    /option of createReceiver\(\)/,
  ],
  ['workOnce({ maxAttempts })', () => withInbox().workOnce({ maxAttempts: 3 } as never), /mean "attempts"\?/],
  ['memoryStore({ ttl })', () => core.memoryStore({ ttl: 5 } as never), /mean "retentionMs"\?/],
  ['memoryStore({ maxEntries })', () => core.memoryStore({ maxEntries: 5 } as never), /mean "max"\?/],
  ['sqliteStore({ db })', () => sqlite.sqliteStore({ db: database } as never), /mean "database"\?/],
  ['redisStore({ keyPrefix })', () => redisStore({ client: {}, keyPrefix: 'x' } as never), /mean "prefix"\?/],
  ['redisStore({ url })', () => redisStore({ url: 'redis://x' } as never), /mean "client"\?/],
  ['bullmqInbox({ url })', () => bullmqInbox({ url: 'redis://x' } as never), /mean "connection"\?/],
  ['createClient({ url })', () => api.createClient({ url } as never), /mean "baseUrl"\?/],
  ['dispatch({ timeoutMs })', () => crm.dispatch(event, { timeoutMs: 5 } as never), /mean "waitMs"\?/],
  ['nodeHandler(path)', () => nodeHandler(crm, '/webhooks' as never), /one object of options: \{ path,/],
  ['startEmulator(port)', () => startEmulator(4010 as never), /one object of options: \{ port: 4010 \}/],
  ['bytes in quotes', () => core.createReceiver({ secret: Buffer.from('"abc"') }), /is in quotes/],
  ['sign(secret, body)', () => core.sign(secret, Buffer.from('{"id":"x"}')), /body and secret are swapped/],
  [
    'app.use(captureRawBody)',
    () => captureRawBody({} as never, {} as never, nothing as never),
    /not middleware.*express\.json\(\{ verify: captureRawBody \}\)/,
  ],
  [
    'createClient(…/api)',
    () => api.createClient({ baseUrl: 'https://crm.example.test/api', email: 'a', password: 'p' }),
    /ends in \/api, which the client adds/,
  ],
  [
    'dropAll({ isOfType }) without a return',
    () =>
      core.dropAll(inbox as never, {
        accountKey: 'a',
        isOfType: (() => {
          nothing()
        }) as never,
      }),
    /isOfType is a function; give a function that returns true or false/,
  ],
  [
    'events.contact.created({ accountKey })',
    () => events.contact.created({ accountKey: 'b' } as never),
    /argument behind it/,
  ],
  [
    'events.contact.created({ emial })',
    () => events.contact.created({ emial: 'a@b.test' } as never),
    /did you mean "email"\?/,
  ],
  [
    'records.create({ accountKey })',
    () => emulator.records.create('contact', { accountKey: 'globex' }),
    /accountKey is no field: records\.create/,
  ],
  [
    'sealedInbox(inbox)',
    () => core.sealedInbox(inbox as never, undefined as never),
    /sealedInbox: it takes one object of options/,
  ],
  [
    'createReceiver({ constructor })',
    () => core.createReceiver({ secret, constructor: 1 } as never),
    /no option "constructor"\. It takes/,
  ],
  [
    'winstonLogger(pino())',
    () => core.winstonLogger({ ...console, bindings: nothing } as never),
    /pino.*give it as it is/,
  ],
  [
    'openSqlite(unset)',
    () => sqlite.openSqlite(`${process.env.POSTERN_UNSET}`),
    /"undefined" is not the path of a file/,
  ],
  ['createReceiver(github())', () => core.createReceiver(senders.github() as never), /receiveFrom\(sender/],
  [
    'sealedInbox({ keys: unset })',
    () => core.sealedInbox(inbox as never, { keys: undefined as never }),
    /INBOX_KEYS, which is set/,
  ],
  [
    'nodeHandler itself as the listener',
    () => nodeHandler({ headers: {} } as never),
    /mount what nodeHandler\(receiver\) returns/,
  ],
]

type Warned = (logger: core.Logger, clock: testing.ManualClock) => unknown

const receive = (receiver: core.Receiver, sent = events.contact.created()) =>
  receiver.receive(testing.signed(sent, { secret }))
const onFile = (file: string, options: object) => {
  const opened = sqlite.openSqlite(join(folder, file))
  const store = sqlite.sqliteStore({ database: opened })
  return core.createReceiver({ secret, store, inbox: sqlite.sqliteInbox({ database: opened }), ...options })
}

/** Mistakes that cannot be told from what is right, of which the receiver warns once: what is done, and the words of the line. */
export const WARNED: readonly (readonly [string, Warned, RegExp])[] = [
  [
    'two receivers with one name, each with a store on the same file',
    async (logger) => {
      const make = () => onFile('two.db', { logger, inbox: undefined }).on('*', nothing)
      const [one, other, sent] = [make(), make(), events.contact.created()]
      for (const receiver of [one, other, other]) await receive(receiver, sent)
    },
    /Another receiver named "default" in this process .* createReceiver\(\{ name/,
  ],
  [
    'two receivers with one name and an inbox in the same file',
    (logger) => [onFile('inbox.db', { logger }), onFile('inbox.db', { logger })],
    /Two receivers named "default" of this process use the same inbox/,
  ],
  [
    'an inbox without a worker',
    async (logger, clock) => {
      const inbox = sqlite.sqliteInbox({ database, clock, table: 'unworked' })
      const receiver = core.createReceiver({ secret, logger, clock, inbox }).on('*', nothing)
      for (let minute = 0; minute < 9; minute++) {
        await receive(receiver)
        await clock.advance('1m')
      }
    },
    /no worker runs any: call receiver\.work\(\)/,
  ],
  [
    'a worker that is closed immediately',
    async (logger, clock) => {
      const inbox = sqlite.sqliteInbox({ database, clock, table: 'closed' })
      const receiver = core.createReceiver({ secret, logger, clock, inbox }).on('*', nothing)
      await receiver.work().close()
      for (let minute = 0; minute < 9; minute++) {
        await receive(receiver)
        await clock.advance('1m')
      }
    },
    /no worker runs any/,
  ],
  [
    'a lane of a field that is not there',
    async (logger) => {
      const lane = ({ data }: core.WebhookEvent<string, unknown>) => Object(data).record.id
      const receiver = onFile('lane.db', { logger, lane }).on('*', nothing)
      for (let times = 0; times < 105; times++) await receive(receiver)
    },
    /lane returned undefined for the first 10 events/,
  ],
  [
    'workOnce for less than a handler may take',
    (logger) => onFile('once.db', { logger }).workOnce({ forMs: 1_000 }),
    /forMs is less than handlerTimeoutMs/,
  ],
  ...(
    [
      [
        'a handlerTimeoutMs in seconds',
        { handlerTimeoutMs: 300 },
        /handlerTimeoutMs is 300, .* multiply seconds by 1_000/,
      ],
      ['a placeholder as a secret', { secret: 'your-secret-here' }, /secret is a placeholder/],
      [
        'the signature header of GitHub',
        { signatureHeader: 'X-Hub-Signature-256' },
        /receiveFrom\(github\(\), \{ secret/,
      ],
    ] as const
  ).map(
    ([what, options, told]) =>
      [what, (logger: core.Logger) => core.createReceiver({ secret, logger, ...options }), told] as const,
  ),
  [
    'a delivery of Svix to a sender that has other headers',
    (logger) => {
      const receiver = core
        .receiveFrom(senders.standardWebhooks(), { secret: Buffer.alloc(24, 'k'), logger })
        .on('*', nothing)
      return receiver.receive({ body: Buffer.from('{}'), headers: { 'svix-signature': 'v1,x' } })
    },
    /no webhook-signature header\. svix-signature is the header of another sender: receiveFrom\(standardWebhooks\(\{ headers/,
  ],
  [
    'a body in an ArrayBuffer',
    (logger) => {
      const receiver = core.createReceiver({ secret, logger }).on('*', nothing)
      return receiver.receive({ body: new ArrayBuffer(2) as never, signature: 'x' })
    },
    /of an ArrayBuffer, new Uint8Array\(body\)/,
  ],
  [
    'work with a delay in seconds',
    (logger) =>
      onFile('delay.db', { logger })
        .work({ delay: (attempt) => attempt * 60 })
        .close(),
    /multiply seconds by 1_000/,
  ],
  [
    'a close of seconds that cuts work off',
    async (logger, clock) => {
      const receiver = core.createReceiver({ secret, logger, clock }).on('*', () => new Promise(nothing))
      void receive(receiver)
      const closing = [0, 500, 10].map((timeoutMs) => receiver.close({ timeoutMs }))
      await clock.advance('1s')
      await Promise.all(closing)
    },
    /close\(\): timeoutMs is 10 milliseconds, .*: multiply seconds by 1_000/,
  ],
  [
    'deliveries to a receiver that is closed',
    async (logger) => {
      const receiver = core.createReceiver({ secret, logger }).on('*', nothing)
      await receiver.close()
      for (let times = 0; times < 2; times++) await receive(receiver)
    },
    /come to a receiver that is closed/,
  ],
  [
    'a receiver for each request',
    async (logger) => {
      for (let times = 0; times < 105; times++)
        await receive(core.createReceiver({ secret, name: 'often', logger }).on('*', nothing))
    },
    /The last 100 receivers of one name got one delivery each/,
  ],
  [
    'nodeHandler with a path that nobody posts to',
    async (logger) => {
      const target = testing.nodeTarget(nodeHandler(core.createReceiver({ secret, logger }), { path: '/webhook' }))
      const sender = testing.createSender({ target, secret })
      for (let times = 0; times < 2; times++) await sender.send(event)
    },
    /404 to a signed POST of "\/webhooks", since its path is "\/webhook"/,
  ],
  [
    'a pattern with another form of a word of a type',
    async (logger) => {
      const billing = core.receiveFrom(senders.stripe(), { secret: 'whsec_5f1d3a', logger })
      billing.on('payment_intent.success', nothing).on('invoice.paid', nothing)
      const body = { id: 'evt_1', type: 'payment_intent.succeeded' }
      await billing.receive(testing.signed(body, { sender: senders.stripe(), secret: 'whsec_5f1d3a' }))
      await billing.receive(
        testing.signed(
          { id: 'evt_2', type: 'payment_intent.payment_failed' },
          { sender: senders.stripe(), secret: 'whsec_5f1d3a' },
        ),
      )
    },
    /"payment_intent\.succeeded" was ignored.*'payment_intent\.success'\?/,
  ],
  [
    'an argument behind the delivery of receive',
    (logger) => {
      const { receive } = core.createReceiver({ secret, logger }).on('*', nothing)
      return Reflect.apply(receive, undefined, [testing.signed(event, { secret }), { source: 'acme' }])
    },
    /all fields go into the first/,
  ],
  [
    'a webhook for a model that resembles a documented one',
    (logger) => {
      const answer = { id: 'w', secret: 's', accessToken: 't' }
      const fetch = async () => new Response(JSON.stringify(answer))
      const client = api.createClient({ baseUrl: 'https://crm.example.test', email: 'a', password: 'p', logger, fetch })
      return client.webhooks.create({ url, events: ['invoice.created'] })
    },
    /did you mean financeInvoice\.created\?/,
  ],
  [
    'a misspelt field of receive beside those of signed()',
    (logger) =>
      core
        .createReceiver({ secret, logger })
        .on('*', nothing)
        .receive({ ...testing.signed(event, { secret }), sourc: 'acme' } as never),
    /no field "sourc"\. Did you mean "source"\?/,
  ],
]

import { join } from 'node:path'
import { expect, it } from 'vitest'
import { expressHandler } from '../adapters/http/express.ts'
import { nextApiHandler, nextHandler } from '../adapters/http/next.ts'
import { nodeHandler } from '../adapters/http/node.ts'
import { fetchHandler } from '../adapters/http/web.ts'
import { bullmqInbox } from '../adapters/queues/bullmq.ts'
import { postgresInbox, postgresStore } from '../adapters/stores/postgres.ts'
import { openSqlite, sqliteInbox, sqliteStore } from '../adapters/stores/sqlite.ts'
import { createClient } from '../src/client/client.ts'
import { createReceiver, memoryStore } from '../src/index.ts'
import { instrument } from '../src/otel/instrument.ts'
import { startEmulator } from '../tools/emulator/emulator.ts'
import { createEvents, createSender, events, nodeTarget, silentLogger } from '../tools/testing/testing.ts'
import { makeTestFolder } from './support/test-folder.ts'

const secret = 'test-secret'
const receiver = createReceiver({ secret })
const pool = { connect: async () => {}, on: () => {}, options: { max: 10 } }

/** Returns options of these names that are all undefined. */
const nothing = (names: string) => Object.fromEntries(names.split(' ').map((name) => [name, undefined]))

it.each<[string, (names: string) => unknown, string]>([
  [
    'createReceiver',
    (names) => createReceiver({ secret, ...nothing(names) }),
    'models events store inbox name signatureHeader maxBodyBytes maxBufferedBytes deadlineMs handlerTimeoutMs leaseMs maxInFlight maxAge clock logger onOutcome onError onDeadLetter',
  ],
  ['receiver.on', (names) => createReceiver({ secret }).on('*', nothing(names), () => {}), 'name order'],
  ['memoryStore', (names) => memoryStore(nothing(names)), 'max retentionMs clock'],
  ['expressHandler', (names) => expressHandler(receiver, nothing(names)), 'source waitUntil'],
  ['nodeHandler', (names) => nodeHandler(receiver, nothing(names)), 'source waitUntil path'],
  ['nextHandler', (names) => nextHandler(receiver, nothing(names)), 'source waitUntil'],
  ['nextApiHandler', (names) => nextApiHandler(receiver, nothing(names)), 'source waitUntil'],
  ['fetchHandler', (names) => fetchHandler(receiver, nothing(names)), 'source waitUntil'],
  [
    'openSqlite, sqliteStore and sqliteInbox',
    (names) => {
      const database = openSqlite(join(makeTestFolder(), 'a.db'), nothing(names))
      sqliteStore({ database, ...nothing('retentionMs table clock') })
      sqliteInbox({ database, ...nothing('deadLetterMs table clock') })
      database.close()
    },
    'driver synchronous busyTimeoutMs',
  ],
  [
    'bullmqInbox',
    (names) => bullmqInbox({ connection: 'redis://127.0.0.1:1', ...nothing(names) }),
    'queue prefix deadLetterMs',
  ],
  ['postgresStore', (names) => postgresStore({ pool, ...nothing(names) } as never), 'schema table retentionMs wrap'],
  ['postgresInbox', (names) => postgresInbox({ pool, ...nothing(names) } as never), 'schema table deadLetterMs'],
  [
    'createClient',
    (names) => createClient({ baseUrl: 'https://crm.example', email: 'a', password: 'b', ...nothing(names) }),
    'allowHttp timeoutMs maxRetries maxWaitMs fetch clock random logger onWait',
  ],
  [
    'instrument',
    (names) => instrument(createReceiver({ secret }), nothing(names)).stop(),
    'tracerProvider meterProvider parent',
  ],
  ['createEvents', (names) => createEvents(nothing(names)), 'seed'],
  [
    'startEmulator',
    async (names) => (await startEmulator(nothing(names))).close(),
    'port host hostAllow clock retryScale deadline tokenTtl rateLimit loginRateLimit format signatureHeader debugHeaders devToken ordered faults seed dialect assume accounts database inbox logger',
  ],
])('%s takes each option that may be left out as undefined', async (_name, call, names) => {
  await call(names)
})

it('signs with the options of the sender if an attempt has undefined', async () => {
  const target = nodeTarget(nodeHandler(createReceiver({ secret, logger: silentLogger }).on('*', () => {})))
  const sender = createSender({ target, secret, tamper: 'flip-bit' })
  expect(await sender.send(events.contact.created(), { tamper: undefined })).toMatchObject({ status: 401 })
})

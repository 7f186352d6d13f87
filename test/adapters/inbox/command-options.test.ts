import { Redis } from 'ioredis'
import pg from 'pg'
import type { Inbox } from 'postern'
import { type BullmqInboxOptions, bullmqInbox } from 'postern/bullmq'
import { postgresInbox } from 'postern/postgres'
import { expect, it } from 'vitest'

const toPostgres = (options: pg.PoolConfig) => postgresInbox({ pool: new pg.Pool(options) })

it('inboxes name no password in what they have logged', () => {
  const redis = bullmqInbox({ connection: 'redis://user:secret@localhost:6379/1?password=secret&family=4' })
  expect(redis.commandOptions).toEqual(['--redis', 'redis://user@localhost:6379/1?family=4'])
  const postgres = toPostgres({ connectionString: 'postgres://user:secret@localhost/app?password=secret' })
  expect(postgres.commandOptions).toEqual(['--postgres', 'postgres://user@localhost/app'])
})

/** Returns the URL in the command of a dead letter. */
function urlOf({ commandOptions = [] }: Pick<Inbox, 'commandOptions'>): string {
  return commandOptions[1] ?? ''
}

const toRedis = (connection: BullmqInboxOptions['connection']) => bullmqInbox({ connection })

it.each([
  { host: 'redis.internal', port: 6380, db: 3 },
  { host: '::1' },
  { host: 'redis.internal', username: 'app', tls: {} },
  {},
])('bullmqInbox names the Redis of %j so that the driver finds it', (connection) => {
  const found = new Redis(urlOf(toRedis(connection)), { lazyConnect: true }).options
  const given = new Redis({ ...connection, lazyConnect: true }).options
  for (const name of ['host', 'port', 'db', 'username'] as const) expect(found[name], name).toBe(given[name])
  expect(found.tls !== undefined).toBe(given.tls !== undefined)
})

it.each([{ path: '/run/redis.sock' }, { sentinels: [{ host: 'sentinel', port: 26_379 }], name: 'main' }])(
  'bullmqInbox names no other Redis for %j, which no URL leads to',
  (connection) => {
    expect(urlOf(toRedis(connection))).toBe('redis://…')
  },
)

it.each([
  { host: 'db.internal', port: 5433, user: 'app', database: 'crm data' },
  { host: '::1', user: 'app', database: 'crm' },
  { host: '/run/postgresql', port: 5433, user: 'app', database: 'crm' },
  { host: 'db.internal', user: 'app', database: 'crm', ssl: { rejectUnauthorized: false } },
])('postgresInbox names the Postgres of %j so that the driver finds it', (connection) => {
  const found = new pg.Client(urlOf(toPostgres(connection)))
  const given = new pg.Client(connection)
  for (const name of ['port', 'user', 'database', 'ssl'] as const) expect(found[name], name).toEqual(given[name])
  expect(found.host.replace(/[[\]]/g, '')).toBe(given.host)
})

it('postgresInbox has the certificate of Postgres checked if the app does', () => {
  const url = urlOf(toPostgres({ host: 'db.internal', user: 'app', ssl: true }))
  expect(url).toBe('postgres://app@db.internal?sslmode=verify-full')
})

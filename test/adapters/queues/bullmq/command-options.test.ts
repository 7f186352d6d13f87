import { Redis } from 'ioredis'
import pg from 'pg'
import { type BullmqInboxOptions, bullmqInbox } from 'postern/bullmq'
import { expect, it } from 'vitest'

it.each([
  [
    'redis://user:secret@localhost:6379/1?password=secret&family=4',
    ['--redis', 'redis://user@localhost:6379/1?family=4'],
  ],
  ['postgres://user:secret@localhost/app?password=secret', ['--postgres', 'postgres://user@localhost/app']],
])('bullmqInbox names no password in what it has logged: %s', (connection, told) => {
  expect(bullmqInbox({ connection }).commandOptions).toEqual(told)
})

/** Returns the URL in the command of a dead letter. */
function urlOf(options: BullmqInboxOptions): string {
  const [, url = ''] = bullmqInbox(options).commandOptions ?? []
  return url
}

it.each([
  { host: 'redis.internal', port: 6380, db: 3 },
  { host: '::1' },
  { host: 'redis.internal', username: 'app', tls: {} },
  {},
])('bullmqInbox names the Redis of %j so that the driver finds it', (connection) => {
  const found = new Redis(urlOf({ connection }), { lazyConnect: true }).options
  const given = new Redis({ ...connection, lazyConnect: true }).options
  for (const name of ['host', 'port', 'db', 'username'] as const) expect(found[name], name).toBe(given[name])
  expect(found.tls !== undefined).toBe(given.tls !== undefined)
})

it.each([{ path: '/run/redis.sock' }, { sentinels: [{ host: 'sentinel', port: 26_379 }], name: 'main' }])(
  'bullmqInbox names no other Redis for %j, which no URL leads to',
  (connection) => {
    expect(urlOf({ connection })).toBe('redis://…')
  },
)

it.each([
  { host: 'db.internal', port: 5433, user: 'app', database: 'crm data' },
  { host: '::1', user: 'app', database: 'crm' },
  { host: '/run/postgresql', port: 5433, user: 'app', database: 'crm' },
  { host: 'db.internal', user: 'app', database: 'crm', ssl: { rejectUnauthorized: false } },
])('bullmqInbox names the Postgres of %j so that the driver finds it', (connection) => {
  const found = new pg.Client(urlOf({ backend: 'postgres', connection }))
  const given = new pg.Client(connection)
  for (const name of ['port', 'user', 'database', 'ssl'] as const) expect(found[name], name).toEqual(given[name])
  expect(found.host.replace(/[[\]]/g, '')).toBe(given.host)
})

it('bullmqInbox has the certificate of Postgres checked if the app does', () => {
  const url = urlOf({ backend: 'postgres', connection: { host: 'db.internal', user: 'app', ssl: true } })
  expect(url).toBe('postgres://app@db.internal?sslmode=verify-full')
})

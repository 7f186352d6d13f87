import { once } from 'node:events'
import { createServer } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  type InboxOptions,
  migrateInbox,
  openInboxOf,
  readInboxPlace,
  writeInboxOptions,
} from '../../tools/cli/service/inbox-options.ts'
import { portOf } from '../adapters/http/hosts.ts'

describe('the options of an inbox as they are shown', () => {
  it.each([
    ['redis://:secret@host:1/0', 'redis://:***@host:1/0'],
    ['redis://user:sec@ret@host', 'redis://user:***@host'],
    ['redis://host?password=secret&family=6', 'redis://host?password=***&family=6'],
    ['postgres://host/app?sslpassword=secret', 'postgres://host/app?sslpassword=***'],
    ['redis://host/0?name=a:b@c', 'redis://host/0?name=a:b@c'],
  ])('name no password: %s', (url, shown) => {
    expect(writeInboxOptions({ redis: url })).toContain(shown)
    expect(writeInboxOptions({ redis: url })).not.toContain('sec')
  })

  it('are words for a shell, the engine first', () => {
    expect(writeInboxOptions({ table: 'events', sqlite: 'my app.db' })).toBe("--sqlite 'my app.db' --table events")
    expect(writeInboxOptions({ schema: 's', queue: 'q', postgres: 'postgres://h/a', prefix: 'p' })).toBe(
      '--postgres postgres://h/a --queue q --prefix p --schema s',
    )
  })
})

describe('the place of an inbox in one word', () => {
  it.each<[string, InboxOptions]>([
    ['sqlite:data/app.db', { sqlite: 'data/app.db' }],
    ['sqlite:data/app.db?table=events', { sqlite: 'data/app.db', table: 'events' }],
    ['sqlite:a?table=one&table=two?', { sqlite: 'a', table: 'two?' }],
    ['redis://localhost:6379', { redis: 'redis://localhost:6379' }],
    ['redis:redis://host/1?queue=crm&prefix=b', { redis: 'redis://host/1', queue: 'crm', prefix: 'b' }],
    ['rediss://:p%40ss@host:1?family=6&queue=q', { redis: 'rediss://:p%40ss@host:1?family=6', queue: 'q' }],
    ['redis://h?schema=s&table=t', { redis: 'redis://h?schema=s&table=t' }],
    ['postgres://h/a?sslmode=require&schema=s', { postgres: 'postgres://h/a?sslmode=require', schema: 's' }],
    [
      'postgres://h/a?sslmode=require&application_name=x&options=-c%20statement_timeout%3D1&host=/run&user=u',
      {
        postgres:
          'postgres://h/a?sslmode=require&application_name=x&options=-c%20statement_timeout%3D1&host=/run&user=u',
      },
    ],
    ['postgres:postgresql://host/app', { postgres: 'postgresql://host/app' }],
  ])('is read: %s', (place, options) => {
    expect(readInboxPlace(place)).toEqual(options)
  })

  it('is refused in another form, or with an option that is not of its engine', () => {
    const form = 'Write it as sqlite:FILE, redis://HOST:PORT or postgres://HOST/DATABASE.'
    for (const place of ['data/app.db', 'sqlite:', 'mysql:redis://host', 'xpostgres://host', 'redis:sqlite:x', ''])
      expect(() => readInboxPlace(place), place).toThrow(form)
    const ofRedis = 'a URL of Redis takes ?queue=NAME and &prefix=TEXT.'
    const ofPostgres = 'a URL of Postgres takes ?table=NAME and &schema=NAME.'
    expect(() => readInboxPlace('redis://h?queu=q')).toThrow(`The inbox has ?queu: ${ofRedis}`)
    expect(() => readInboxPlace('postgres://h/a?tabel=t')).toThrow(`The inbox has ?tabel: ${ofPostgres}`)
    expect(() => readInboxPlace('postgres://h/a?queue=q')).toThrow(ofPostgres)
    const stray = 'queue: a SQLite file takes only ?table=NAME.'
    expect(() => readInboxPlace('sqlite:app.db?table=t&queue=q')).toThrow(stray)
  })
})

describe('an inbox', () => {
  it.each<[InboxOptions, string]>([
    [{}, 'Name the inbox: --sqlite FILE, --redis URL or --postgres URL.'],
    [
      { sqlite: 'a', redis: 'redis://h' },
      'Name the inbox: --sqlite FILE, --redis URL or --postgres URL. --sqlite and --redis are several; give one.',
    ],
    [{ sqlite: 'a', queue: 'q' }, '--queue is not for an inbox of --sqlite.'],
    [{ redis: 'redis://h', table: 't' }, '--table is not for an inbox of --redis.'],
    [{ redis: 'redis://h', schema: 's' }, '--schema is not for an inbox of --redis.'],
    [{ postgres: 'postgres://h', prefix: 'p' }, '--prefix is not for an inbox of --postgres.'],
    [{ redis: 'localhost' }, 'That is not a URL: give redis://HOST:PORT'],
    [{ redis: 'redis://h/app' }, 'The path of a Redis URL is the number of a database, as in redis://HOST:PORT/0.'],
    [{ redis: 'xredis://h' }, 'That is not a URL: give redis://HOST:PORT'],
    [{ redis: 'localhost:6379' }, '--redis takes redis://HOST:PORT.'],
    [{ redis: 'postgres://h/a' }, 'For this one, use --postgres, not --redis.'],
    [{ postgres: 'h/a' }, '--postgres takes postgres://HOST/DATABASE.'],
    [{ redis: 'redis://h?queu=q' }, 'The inbox has ?queu: a URL of Redis takes ?queue=NAME'],
    [{ postgres: 'xpostgres://h' }, 'That is not a URL: give redis://HOST:PORT'],
  ])('is in one place, with the options of its engine: not %j', async (options, message) => {
    await expect(openInboxOf(options)).rejects.toMatchObject({ exitCode: 2, message: expect.stringContaining(message) })
  })

  it.each(['postgres', 'postgresql'])('has its tables in a Postgres that answers: %s', async (scheme) => {
    await expect(migrateInbox({ postgres: `${scheme}://127.0.0.1:1/app` })).rejects.toThrow('ECONNREFUSED')
  })

  it('is given up in a Postgres that says nothing', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    const silent = migrateInbox({ postgres: `postgres://127.0.0.1:${portOf(server)}/app` })
    await expect(silent).rejects.toThrow('timeout')
  })

  it('is not in a server of HTTP', async () => {
    const server = createServer((socket) => void socket.on('error', () => {}).end('HTTP/1.1 400 Bad Request\r\n\r\n'))
    onTestFinished(() => void server.close())
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const redis = `redis://127.0.0.1:${portOf(server)}`
    await expect(openInboxOf({ redis })).rejects.toThrow('The inbox cannot be reached: what listens there is no Redis.')
  })

  it('has no tables to make in what is no Postgres', async () => {
    await expect(migrateInbox({ postgres: 'mysql://h:secret@x' })).rejects.toThrow(/^That is not a URL: [^@]*$/)
  })
})

import pg from 'pg'
import { bullmqInbox } from 'postern/bullmq'
import { postgresInbox } from 'postern/postgres'
import { expect, it } from 'vitest'

it('inboxes name no address or password of their server in what they have logged', () => {
  const redis = { connection: 'redis://user:secret@localhost:6379/1' }
  expect(bullmqInbox(redis).commandOptions).toEqual(['--redis', 'URL'])
  const named = ['--redis', 'URL', '--queue', 'events', '--prefix', 'app']
  expect(bullmqInbox({ ...redis, queue: 'events', prefix: 'app' }).commandOptions).toEqual(named)
  const pool = new pg.Pool({ connectionString: 'postgres://user:secret@localhost/app' })
  expect(postgresInbox({ pool }).commandOptions).toEqual(['--postgres', 'URL'])
  const placed = ['--postgres', 'URL', '--schema', 'crm', '--table', 'events']
  expect(postgresInbox({ pool, schema: 'crm', table: 'events' }).commandOptions).toEqual(placed)
})

import pg from 'pg'
import { createSender, events, urlTarget } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { type PostgresServer, postgresProgram, startPostgres } from '../engines/postgres-server.ts'
import { findFreePort, start, untilItListens } from '../support/programs.ts'

const SECRET = 'whsec_example'

describe.skipIf(postgresProgram === undefined)('examples/postgres', () => {
  it('counts each contact once over two processes, and ends at SIGTERM', async () => {
    const database = await startPostgres()
    try {
      const apps = [await startApp(database), await startApp(database)]
      const sent = Array.from({ length: 3 }, () => events.contact.created())
      for (const event of sent) {
        const attempts = await Promise.all(apps.map(({ sender }) => sender.concurrently(event, 3)))
        expect(attempts.flat().map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200])
      }
      const client = new pg.Client({ connectionString: database.url })
      await client.connect()
      expect((await client.query('SELECT count FROM totals')).rows).toEqual([{ count: 3 }])
      expect((await client.query('SELECT id FROM contacts')).rowCount).toBe(3)
      await client.end()
      for (const { end } of apps) expect(await end()).toBe(0)
    } finally {
      await database.remove()
    }
  })
})

async function startApp({ url }: PostgresServer) {
  const port = await findFreePort()
  const env = { DATABASE_URL: url, WEBHOOK_SECRET: SECRET, PORT: String(port), NODE_OPTIONS: '--import tsx' }
  const program = start('examples/postgres/main.ts', env)
  await untilItListens(port, program)
  const sender = createSender({ target: urlTarget(`http://127.0.0.1:${port}/webhooks`), secret: SECRET })
  const end = () => {
    program.child.kill('SIGTERM')
    return program.exitCode
  }
  return { sender, end }
}

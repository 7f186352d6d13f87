/**
 * A handler whose writes happen exactly once, on a SQLite file: `npx tsx examples/sqlite/main.ts [FILE]`. Each run is a separate process,
 * as after a restart: run it twice on the same file, and the second run finds everything done.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createReceiver } from 'postern'
import { contact } from 'postern/models'
import { openSqlite, sqliteStore } from 'postern/sqlite'
import { createEvents, signed } from 'postern/testing'

const SECRET = 'the-secret-of-the-example'
const [given] = process.argv.slice(2)
const folder = given === undefined ? mkdtempSync(join(tmpdir(), 'postern-example-')) : undefined
const database = openSqlite(given ?? join(folder ?? '', 'app.db'))
database.exec('CREATE TABLE IF NOT EXISTS contacts (id TEXT PRIMARY KEY, email TEXT, writes INTEGER)')
const save = database.prepare(
  'INSERT INTO contacts VALUES (?, ?, 1) ON CONFLICT (id) DO UPDATE SET email = excluded.email, writes = writes + 1',
)

const receiver = createReceiver({ secret: SECRET, models: { contact }, store: sqliteStore({ database }) })
receiver.on('contact.created', async (event, context) => {
  const { _id, email } = event.data.record
  // Committed together with the handler's finish mark, or not at all.
  await context.transaction(() => save.run(_id, email ?? null))
})

// The same three events in every run, each sent three times concurrently.
const events = createEvents({ seed: 'example' })
for (let index = 0; index < 3; index++) {
  const delivery = signed(events.contact.created(), { secret: SECRET })
  const copies = [1, 2, 3].map(() => receiver.receive(delivery))
  const outcomes = await Promise.all(copies)
  console.log(outcomes.map(({ status, outcome }) => `${status} ${outcome}`).join(', '))
}
const rows = database.prepare('SELECT writes FROM contacts').all()
console.log(
  `${rows.length} contacts, each written ${rows.every(({ writes }) => writes === 1) ? 'once' : 'more than once'}`,
)

await receiver.close()
database.close()
if (folder !== undefined) rmSync(folder, { recursive: true })

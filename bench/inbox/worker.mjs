/**
 * Accepts events into a file: `worker.mjs FILE bare|postern|lanes`. `bare` inserts bytes by a unique id, grouped in commits by turns of the event
 * loop, and never handles them. `{ fill }` inserts so many rows in one step.
 */
import { openSqlite, sqliteInbox, sqliteStore } from '../../dist/sqlite.js'
import { acceptBare, answerFor, makeEvent, makeReceiver, measure, toPlaces } from './contest.mjs'

const [path, kind] = process.argv.slice(2)
const database = openSqlite(path)
answerFor(kind === 'bare' ? makeBare() : makePostern())

function makeBare() {
  database.exec('CREATE TABLE IF NOT EXISTS events (id TEXT NOT NULL UNIQUE, bytes BLOB NOT NULL)')
  const insert = database.prepare('INSERT INTO events VALUES (?, ?) ON CONFLICT (id) DO NOTHING')
  let waiting = []
  const flush = () => {
    const group = waiting
    waiting = []
    database.exec('BEGIN IMMEDIATE')
    for (const { id, body } of group) insert.run(id, body)
    database.exec('COMMIT')
    for (const { resolve } of group) resolve()
  }
  return {
    accept: acceptBare(
      (id, body) =>
        new Promise((resolve) => {
          if (waiting.length === 0) setImmediate(flush)
          waiting.push({ id, body, resolve })
        }),
    ),
    fill: (rows) => fill('INSERT INTO events SELECT key, bytes FROM filled', rows),
    // The least work of any worker: read, parse and delete, a hundred at a time.
    async work(events) {
      const read = database.prepare('SELECT id, bytes FROM events ORDER BY rowid LIMIT 100')
      const remove = database.prepare('DELETE FROM events WHERE id = ?')
      return measure(events, async () => {
        for (let done = 0; done < events; ) {
          const rows = read.all()
          for (const { bytes } of rows) JSON.parse(Buffer.from(bytes).toString())
          database.transaction(() => {
            for (const { id } of rows) remove.run(id)
          })
          done += rows.length
        }
      })
    },
  }
}

function makePostern() {
  const { lane, state } = toPlaces(kind)
  return {
    ...makeReceiver({ store: sqliteStore({ database }), inbox: sqliteInbox({ database }) }, kind),
    // As ready as accepted events.
    fill: (rows) =>
      fill(
        `INSERT INTO postern_inbox (key, account, id, type, received_at, since, lane, state, position, due_at)
          SELECT key, account, id, 'contact.created', 0, 0, ${lane}, ${state},
            n / 100 + CAST(unixepoch('subsec') * 1000 AS INTEGER), 0 FROM filled;
        INSERT INTO postern_inbox_bodies SELECT seq, bytes FROM filled JOIN postern_inbox USING (key)`,
        rows,
      ),
  }
}

function fill(insert, rows) {
  database.exec('CREATE TEMP TABLE IF NOT EXISTS filled (n INTEGER, key TEXT, account TEXT, id TEXT, bytes BLOB)')
  const add = database.prepare('INSERT INTO filled VALUES (?, ?, ?, ?, ?)')
  database.transaction(() => {
    for (let n = 0; n < rows; n++) {
      const { key, account, id, text } = makeEvent(n)
      add.run(n, key, account, id, Buffer.from(text))
    }
    database.exec(insert)
    database.exec('DELETE FROM filled')
  })
}

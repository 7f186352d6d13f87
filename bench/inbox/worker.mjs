/**
 * One who accepts events into a file: `worker.mjs FILE bare|postern`. `bare` checks the signature, parses the body and inserts its
 * bytes by a unique id, grouped in commits by turns of the event loop; nothing is ever done with them.
 *
 * `{ accept, beside }` answers with the figures of so many new events, `{ fill }` puts so many rows in at once, and `{ work }` works so
 * many events off, with handlers that do nothing.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createReceiver, sign } from '../../dist/index.js'
import { openSqlite, sqliteInbox, sqliteStore } from '../../dist/sqlite.js'
import { answer, startCpu } from '../answer.mjs'
import { makeBody } from '../deliveries.mjs'

const SECRET = 'whsec_bench'
const SIZE = 611
const [path, kind] = process.argv.slice(2)
const database = openSqlite(path)
const contestant = kind === 'bare' ? makeBare() : makePostern()

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
    for (const { resolve } of group) resolve(200)
  }
  return {
    accept: (body, signature) => {
      const digest = createHmac('sha256', SECRET).update(body).digest()
      const given = Buffer.from(signature.slice(7), 'hex')
      if (given.length !== digest.length || !timingSafeEqual(given, digest)) return 401
      const { id } = JSON.parse(body.toString())
      return new Promise((resolve) => {
        if (waiting.length === 0) setImmediate(flush)
        waiting.push({ id, body, resolve })
      })
    },
    fill: (rows) => fill('INSERT INTO events SELECT key, bytes FROM filled', rows),
    // What anybody has to do: read, parse and delete, a hundred at a time.
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
  const inbox = sqliteInbox({ database })
  const receiver = createReceiver({
    secret: SECRET,
    store: sqliteStore({ database }),
    inbox,
    onError: ({ message }) => fail(message),
  })
  let ran = 0
  let onRun = () => {}
  receiver.on('contact.created', () => {
    ran++
    onRun()
  })
  return {
    accept: async (body, signature) => (await receiver.receive({ body, signature })).status,
    // A backlog of a hundred accounts, as ready as what was accepted.
    fill: (rows) =>
      fill(
        `INSERT INTO postern_inbox (key, account, id, type, bytes, received_at, since, state, position, due_at)
          SELECT key, 'account-' || (n % 100), id, 'contact.created', bytes, 0, 0, 0,
            n / 100 + CAST(unixepoch('subsec') * 1000 AS INTEGER), 0 FROM filled`,
        rows,
      ),
    async work(events) {
      const until = ran + events
      const done = new Promise((resolve) => {
        onRun = () => ran >= until && resolve()
      })
      let worker
      const figures = await measure(events, async () => {
        worker = receiver.work({ concurrency: 100 })
        await done
      })
      await worker.close()
      return figures
    },
  }
}

async function measure(events, work) {
  const started = performance.now()
  const readCpu = startCpu()
  await work()
  return { cpu: readCpu() / events, rate: (events / (performance.now() - started)) * 1_000 }
}

/** A figure of events that fail is none. */
function fail(message) {
  console.error(message)
  process.exit(1)
}

function fill(insert, rows) {
  database.exec('CREATE TEMP TABLE IF NOT EXISTS filled (n INTEGER, key TEXT, id TEXT, bytes BLOB)')
  const add = database.prepare('INSERT INTO filled VALUES (?, ?, ?, ?)')
  database.transaction(() => {
    for (let n = 0; n < rows; n++) {
      const { id, body } = makeBody(SIZE)
      const account = `account-${n % 100}`
      const bytes = Buffer.from(body.toString().replace('"acme"', `"${account}"`))
      add.run(n, `7:default${account.length}:${account}${id.length}:${id}`, id, bytes)
    }
    database.exec(insert)
    database.exec('DELETE FROM filled')
  })
}

async function accept(events, beside) {
  const deliveries = Array.from({ length: events }, () => {
    const { body } = makeBody(SIZE)
    return { body, signature: sign(body, SECRET) }
  })
  const times = []
  const figures = await measure(events, () =>
    Promise.all(
      Array.from({ length: beside }, async () => {
        for (let next = deliveries.pop(); next !== undefined; next = deliveries.pop()) {
          const asked = performance.now()
          if ((await contestant.accept(next.body, next.signature)) !== 200) throw new Error('an event was not accepted')
          times.push(performance.now() - asked)
        }
      }),
    ),
  )
  times.sort((a, b) => a - b)
  return { ...figures, p99: times[Math.floor(events * 0.99)] }
}

answer(async (question) => {
  if (question.fill !== undefined) contestant.fill(question.fill)
  const figures =
    question.accept !== undefined
      ? await accept(question.accept, question.beside)
      : question.work !== undefined
        ? await contestant.work(question.work)
        : { cpu: 0, rate: 0 }
  return { ...figures, rss: process.memoryUsage().rss / 1_048_576 }
})

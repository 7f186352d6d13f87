/**
 * Accepts events into tables of Postgres: `postgres-worker.mjs URL bare|grouped|postern|lanes SCHEMA`. `bare` and `grouped` insert bytes by a unique
 * id, by the same client. `{ fill }` inserts so many rows, `{ counts }` answers with the time of a count.
 */
import pg from 'pg'
import { postgresInbox, postgresStore } from '../../dist/postgres.js'
import { acceptBare, answerFor, makeEvent, makeReceiver, toPlaces } from './contest.mjs'

const [url, kind, schema] = process.argv.slice(2)
const pool = new pg.Pool({ connectionString: url, options: `-c search_path=${schema}` })
answerFor(kind === 'postern' || kind === 'lanes' ? await makePostern() : await makeByHand())

async function makeByHand() {
  await pool.query(`CREATE TABLE ${kind} (id text PRIMARY KEY, bytes bytea NOT NULL)`)
  const one = `INSERT INTO ${kind} (id, bytes) VALUES ($1, $2) ON CONFLICT DO NOTHING`
  const many = `INSERT INTO ${kind} (id, bytes) SELECT * FROM unnest($1::text[], $2::bytea[]) ON CONFLICT DO NOTHING`
  let waiting = []
  let isBusy = false
  const flush = async () => {
    if (isBusy || waiting.length === 0) return
    isBusy = true
    const group = waiting
    waiting = []
    await pool.query({ name: 'many', text: many, values: [group.map(({ id }) => id), group.map(({ body }) => body)] })
    for (const { resolve } of group) resolve()
    isBusy = false
    flush()
  }
  const insert =
    kind === 'bare'
      ? (id, body) => pool.query({ name: 'one', text: one, values: [id, body] })
      : (id, body) =>
          new Promise((resolve) => {
            waiting.push({ id, body, resolve })
            queueMicrotask(flush)
          })
  return {
    accept: acceptBare(insert),
    fill: (rows) => fill(rows, `INSERT INTO ${kind} (id, bytes) SELECT key, bytes FROM filled`, [kind]),
  }
}

async function makePostern() {
  const [store, inbox] = [postgresStore({ pool }), postgresInbox({ pool })]
  await store.migrate()
  await inbox.migrate()
  const { lane, state } = toPlaces(kind)
  return {
    ...makeReceiver({ store, inbox }, kind),
    // As ready as accepted events.
    fill: (rows) =>
      fill(
        rows,
        `WITH stored AS (
          INSERT INTO postern_inbox (key, lane, state, position, account, id, type, received_at, since, due_at)
          SELECT key, ${lane}, ${state}, n / 100 + (extract(epoch FROM now()) * 1000000)::bigint, account, id, 'contact.created', 0, 0, 0 FROM filled
          RETURNING key, seq
        ) INSERT INTO postern_inbox_bodies SELECT seq, bytes FROM stored JOIN filled USING (key)`,
        ['postern_inbox', 'postern_inbox_bodies'],
      ),
    async counts() {
      const asked = performance.now()
      await inbox.counts()
      return { ms: performance.now() - asked }
    },
  }
}

async function fill(rows, insert, tables) {
  const client = await pool.connect()
  await client.query('CREATE TEMP TABLE filled (n int, key text, account text, id text, bytes bytea)')
  for (let from = 0; from < rows; from += 10_000) {
    const events = Array.from({ length: Math.min(rows - from, 10_000) }, (_, n) => ({ ...makeEvent(n), n: from + n }))
    const columns = ['n', 'key', 'account', 'id', 'text'].map((name) => events.map((event) => event[name]))
    await client.query(
      `INSERT INTO filled SELECT n, key, account, id, convert_to(text, 'UTF8')
      FROM unnest($1::int[], $2::text[], $3::text[], $4::text[], $5::text[]) AS f (n, key, account, id, text)`,
      columns,
    )
  }
  await client.query('SET session_replication_role = replica') // the triggers of lanes would do what the statement does
  await client.query(insert)
  await client.query('RESET session_replication_role')
  await client.query('DROP TABLE filled')
  for (const table of tables) await client.query(`VACUUM ANALYZE ${table}`)
  await client.query('CHECKPOINT')
  client.release()
}

/** Claims on Postgres: `worker.mjs URL postern|"one by one"`. Answers `{ claims, beside }` with what so many claims of new keys took. */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { postgresStore } from '../../dist/postgres.js'

const [url, name] = process.argv.slice(2)
const LEASE_MS = 15_000
const pool = new pg.Pool({ connectionString: url })

const store = postgresStore({ pool })
const INSERT = `INSERT INTO one_by_one (key, until) VALUES ($1, now() + $2 * interval '1 ms') ON CONFLICT DO NOTHING`
const claimers = {
  postern: async (key) => (await store.claim(key, LEASE_MS)).state === 'claimed',
  'one by one': async (key) => (await pool.query(INSERT, [key, LEASE_MS])).rowCount === 1,
}
const claim = claimers[name]
const ready =
  name === 'postern'
    ? store.migrate()
    : pool.query('CREATE TABLE one_by_one (key text COLLATE "C" PRIMARY KEY, until timestamptz)')

process.on('disconnect', () => process.exit())
process.on('message', async ({ claims, beside }) => {
  try {
    await ready
    process.send(await measure(claims, beside))
  } catch (error) {
    process.send({ error: String(error) })
  }
})

async function measure(claims, beside) {
  const keys = Array.from({ length: claims }, () => `7:default4:acme28:evt_${randomBytes(12).toString('hex')}`)
  const twice = keys[0]
  const times = []
  const started = performance.now()
  const cpu = process.cpuUsage()
  await Promise.all(
    Array.from({ length: beside }, async () => {
      for (let key = keys.pop(); key !== undefined; key = keys.pop()) {
        const asked = performance.now()
        if (!(await claim(key))) throw new Error('a new key is taken')
        times.push(performance.now() - asked)
      }
    }),
  )
  const ms = performance.now() - started
  const { user, system } = process.cpuUsage(cpu)
  if (await claim(twice)) throw new Error('a key was claimed twice')
  times.sort((a, b) => a - b)
  return {
    rate: (claims / ms) * 1_000,
    cpu: (user + system) / claims,
    p99: times[Math.floor(times.length * 0.99)],
  }
}

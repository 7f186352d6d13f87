/**
 * Makes claims on Postgres: `worker.mjs URL postern|"one by one"`. Answers `{ claims, beside }` with the figures of so many claims of new
 * keys.
 */
import pg from 'pg'
import { postgresStore } from '../../dist/postgres.js'
import { answer } from '../answer.mjs'
import { LEASE_MS, makeKeys, measureClaims } from '../claims.mjs'

const [url, name] = process.argv.slice(2)
const pool = new pg.Pool({ connectionString: url })

const store = postgresStore({ pool })
const INSERT = `INSERT INTO one_by_one (key, until) VALUES ($1, now() + $2 * interval '1 ms') ON CONFLICT DO NOTHING`
const claimers = {
  postern: async (key) => (await store.claim(key, LEASE_MS)).state === 'claimed',
  'one by one': async (key) => (await pool.query(INSERT, [key, LEASE_MS])).rowCount === 1,
}
const ready =
  name === 'postern'
    ? store.migrate()
    : pool.query('CREATE TABLE one_by_one (key text COLLATE "C" PRIMARY KEY, until timestamptz)')

answer(async ({ claims, beside }) => {
  await ready
  return measureClaims(makeKeys(claims), beside, claimers[name])
})

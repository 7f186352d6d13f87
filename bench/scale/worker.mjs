/** Runs events on an engine: `worker.mjs redis|postgres URL`. Answers `{ events, beside }`: each is claimed and completed. */
import pg from 'pg'
import { createClient } from 'redis'
import { postgresStore } from '../../dist/postgres.js'
import { redisStore } from '../../dist/redis.js'
import { answer, startCpu } from '../answer.mjs'
import { LEASE_MS, makeKey } from '../claims.mjs'

const [engine, url] = process.argv.slice(2)
const store =
  engine === 'redis'
    ? redisStore({ client: await createClient({ url }).connect() })
    : postgresStore({ pool: new pg.Pool({ connectionString: url }) })
await store.migrate?.()

answer(async ({ events, beside }) => {
  let left = events
  const readCpu = startCpu()
  const started = performance.now()
  await Promise.all(
    Array.from({ length: beside }, async () => {
      while (left-- > 0) {
        const key = makeKey()
        const claim = await store.claim(key, LEASE_MS)
        if (claim.state !== 'claimed' || !(await store.complete(key, claim.token)))
          throw new Error('a new key was lost')
      }
    }),
  )
  return { rate: (events / (performance.now() - started)) * 1_000, cpu: readCpu() / events }
})

/**
 * Makes claims on a Redis: `worker.mjs CLIENT CONTESTANT PORT`. The contestants are the store of the package, and the one bare command that
 * a claim takes at least, by the same client. Answers `{ claims, beside }` with the figures of so many claims of new keys; `{ ids }` stores
 * done ones.
 */
import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { redisStore } from '../../dist/redis.js'
import { answer } from '../answer.mjs'
import { LEASE_MS, makeKey, makeKeys, measureClaims } from '../claims.mjs'

const [kind, contestant, port] = process.argv.slice(2)
const url = `redis://127.0.0.1:${port}`
const client = kind === 'ioredis' ? new Redis(url) : await createClient({ url }).connect()
const store = redisStore({ client })

const CLAIMS = {
  store: async (key) => (await store.claim(key, LEASE_MS)).state === 'claimed',
  bare:
    kind === 'ioredis'
      ? async (key) => (await client.set(`postern:${key}`, randomUUID(), 'PX', LEASE_MS, 'NX')) === 'OK'
      : async (key) =>
          (await client.set(`postern:${key}`, randomUUID(), {
            expiration: { type: 'PX', value: LEASE_MS },
            condition: 'NX',
          })) === 'OK',
}

async function fill(ids) {
  for (let done = 0; done < ids; done += 1_000)
    await Promise.all(Array.from({ length: 1_000 }, () => store.complete(makeKey(), 'token')))
}

answer(({ claims, beside, ids }) =>
  ids === undefined ? measureClaims(makeKeys(claims), beside, CLAIMS[contestant]) : fill(ids),
)

/**
 * Claims on a Redis: `worker.mjs CLIENT CONTESTANT PORT`. The store of the package, or the one bare command that a claim is at the
 * least, by the same client. Answers a round with the CPU of this process, the time it took, and the time of each claim.
 */
import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { redisStore } from '../../dist/redis.js'

const [kind, contestant, port] = process.argv.slice(2)
const LEASE_MS = 15_000
const url = `redis://127.0.0.1:${port}`
const client = kind === 'ioredis' ? new Redis(url) : await createClient({ url }).connect()
const store = redisStore({ client })
let count = 0
/** As the receiver makes them: the name, the account, the event. */
const nextKey = () => ['7:default4:acme28:', `evt_${process.pid}`, String(count++).padStart(18, '0')].join('')

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
const claim = CLAIMS[contestant]

async function checkSelf() {
  const key = nextKey()
  if (!(await claim(key))) throw new Error('a new key was not claimed')
  if (await claim(key)) throw new Error('a key was claimed twice')
}

/** Claims new keys, so many at a time. */
async function playRound(claims, beside) {
  const latencies = []
  let left = claims
  const work = async () => {
    while (left-- > 0) {
      const start = performance.now()
      if (!(await claim(nextKey()))) throw new Error('a new key was not claimed')
      latencies.push(performance.now() - start)
    }
  }
  const [cpu, start] = [process.cpuUsage(), performance.now()]
  await Promise.all(Array.from({ length: beside }, work))
  const { user, system } = process.cpuUsage(cpu)
  const took = performance.now() - start
  latencies.sort((a, b) => a - b)
  return {
    cpu: (user + system) / claims,
    rate: (claims / took) * 1_000,
    p50: at(latencies, 0.5),
    p99: at(latencies, 0.99),
  }
}

/** Puts so many done events into the store. */
async function fill(ids) {
  for (let done = 0; done < ids; done += 1_000)
    await Promise.all(Array.from({ length: 1_000 }, () => store.complete(nextKey(), 'token')))
}

function at(sorted, share) {
  return sorted[Math.floor(sorted.length * share)]
}

process.on('disconnect', () => process.exit())
process.on('message', async ({ claims, beside, ids }) => {
  try {
    if (ids !== undefined) process.send((await fill(ids)) ?? 'ok')
    else process.send(claims === 0 ? ((await checkSelf()) ?? 'ok') : await playRound(claims, beside))
  } catch (error) {
    process.send({ error: String(error?.stack ?? error) })
  }
})

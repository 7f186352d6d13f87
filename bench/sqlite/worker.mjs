/**
 * Claims on a file: `worker.mjs FILE SYNCHRONOUS`. Answers `{ claims, beside }` with what so many claims of new keys took, as many
 * at a time as `beside` says: seconds, the longest time between two turns of the event loop, the 99th percentile of a claim's time, and what the disk
 * itself takes at that moment.
 */
import { randomBytes } from 'node:crypto'
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { openSqlite, sqliteStore } from '../../dist/sqlite.js'

const [path, synchronous] = process.argv.slice(2)
const LEASE_MS = 15_000
const database = openSqlite(path, { synchronous })
const store = sqliteStore({ database })

/** What the disk takes to write a mebibyte for good, in the worst of 20 times: no commit can be quicker to be sure of than that. */
function probeDisk() {
  const file = openSync(`${path}.probe`, 'w')
  const bytes = new Uint8Array(1_048_576)
  let worst = 0
  for (let turn = 0; turn < 20; turn++) {
    const started = performance.now()
    writeSync(file, bytes, 0, bytes.length, 0)
    fdatasyncSync(file)
    worst = Math.max(worst, performance.now() - started)
  }
  closeSync(file)
  return worst
}

process.on('disconnect', () => process.exit())
process.on('message', async ({ claims, beside }) => {
  try {
    process.send(await measure(claims, beside))
  } catch (error) {
    process.send({ error: String(error) })
  }
})

async function measure(claims, beside) {
  // Of the form of real keys. At random, which is the worst for a tree: every claim touches a page of its own.
  const keys = Array.from({ length: claims }, () => `7:default4:acme28:evt_${randomBytes(12).toString('hex')}`)
  const disk = probeDisk()
  const times = []
  let longest = 0
  let last = performance.now()
  const ticking = setInterval(tick, 1)
  function tick() {
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
  }
  const started = performance.now()
  const cpu = process.cpuUsage()
  await Promise.all(
    Array.from({ length: beside }, async () => {
      for (let key = keys.pop(); key !== undefined; key = keys.pop()) {
        const asked = performance.now()
        const { state } = await store.claim(key, LEASE_MS)
        if (state !== 'claimed') throw new Error(`a new key is ${state}`)
        times.push(performance.now() - asked)
      }
    }),
  )
  const ms = performance.now() - started
  const { user, system } = process.cpuUsage(cpu)
  tick()
  clearInterval(ticking)
  times.sort((a, b) => a - b)
  return {
    driver: database.driver,
    rate: (claims / ms) * 1_000,
    cpu: (user + system) / claims,
    stall: longest,
    disk,
    p99: times[Math.floor(times.length * 0.99)],
  }
}

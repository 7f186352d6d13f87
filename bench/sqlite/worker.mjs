/**
 * Makes claims on a file: `worker.mjs FILE SYNCHRONOUS`. Answers `{ claims, beside }` with the figures of so many claims of new keys, the
 * longest time between two turns of the event loop, and the time of a disk write at that moment.
 */
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { openSqlite, sqliteStore } from '../../dist/sqlite.js'
import { answer } from '../answer.mjs'
import { LEASE_MS, makeKeys, measureClaims } from '../claims.mjs'

const [path, synchronous] = process.argv.slice(2)
const database = openSqlite(path, { synchronous })
const store = sqliteStore({ database })

/** Measures the longest of 20 durable writes of a mebibyte: no commit can be confirmed sooner. */
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

answer(async ({ claims, beside }) => {
  const disk = probeDisk()
  const keys = makeKeys(claims)
  let stall = 0
  let last = performance.now()
  const tick = () => {
    const now = performance.now()
    stall = Math.max(stall, now - last)
    last = now
  }
  const ticking = setInterval(tick, 1)
  const claim = async (key) => {
    const { state } = await store.claim(key, LEASE_MS)
    return state === 'claimed'
  }
  const figures = await measureClaims(keys, beside, claim, tick)
  clearInterval(ticking)
  return { ...figures, driver: database.driver, stall, disk }
})

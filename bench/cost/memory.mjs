/**
 * Measures the memory store alone: its memory before the first id, the memory of an id with its key, and the cost of a claim when it is
 * full.
 */
import { memoryStore } from '../../dist/index.js'
import { answer, startCpu } from '../answer.mjs'

const IDS = 100_000
// Joined, as in the receiver: V8 would keep a sum in pieces.
const keyOf = (index) => ['7:default4:acme28:', `evt_${String(index).padStart(24, '0')}`].join('')
const heap = () => {
  for (let round = 0; round < 4; round++) globalThis.gc()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
const take = (store, key) => store.complete(key, store.claim(key, 15_000, 'acme').token)

const empty = heap()
const store = memoryStore()
take(store, keyOf(0))
const first = heap()
for (let index = 1; index < IDS; index++) take(store, keyOf(index))
const full = heap()

const times = []
for (let round = 0; round < 15; round++) {
  const keys = Array.from({ length: 20_000 }, (_, index) => keyOf(IDS + round * 20_000 + index))
  // A key that was never looked up has no hash yet, like that of a new event.
  const readCpu = startCpu()
  for (const key of keys) take(store, key)
  times.push(readCpu() / keys.length)
}
times.sort((a, b) => a - b)
answer(() => ({ first: first - empty, each: (full - first) / IDS, claim: times[times.length >> 1] }))

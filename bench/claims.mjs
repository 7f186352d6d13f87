import { randomBytes } from 'node:crypto'
import { startCpu } from './answer.mjs'

export const LEASE_MS = 15_000

/**
 * Returns a new key, in the form that the receiver makes. It is random, which is the worst case for a tree: every claim touches another
 * page.
 */
export const makeKey = () => ['7:default4:acme28:', `evt_${randomBytes(12).toString('hex')}`].join('')

export const makeKeys = (claims) => Array.from({ length: claims }, makeKey)

/**
 * Claims these keys, which are new, `beside` of them concurrently. `claim` returns whether it got the key; `onEnd` is called right after.
 */
export async function measureClaims(keys, beside, claim, onEnd = () => {}) {
  const claims = keys.length
  const [first] = keys
  const times = []
  const started = performance.now()
  const readCpu = startCpu()
  await Promise.all(
    Array.from({ length: beside }, async () => {
      for (let key = keys.pop(); key !== undefined; key = keys.pop()) {
        const asked = performance.now()
        if (!(await claim(key))) throw new Error('a new key was not claimed')
        times.push(performance.now() - asked)
      }
    }),
  )
  onEnd()
  const cpu = readCpu() / claims
  const rate = (claims / (performance.now() - started)) * 1_000
  if (await claim(first)) throw new Error('a key was claimed twice')
  times.sort((a, b) => a - b)
  return { cpu, rate, p50: times[Math.floor(claims * 0.5)], p99: times[Math.floor(claims * 0.99)] }
}

import { setTimeout as sleep } from 'node:timers/promises'
import type { Store } from 'postern'

const LEASE_MS = 15_000

/** Returns the milliseconds until a claim succeeds, which is repeated as senders do: for 40 s at most. */
export async function untilClaimed(store: Store, toKey: () => string): Promise<number> {
  const startedAt = performance.now()
  while (performance.now() - startedAt < 40_000) {
    const claim = await Promise.resolve(store.claim(toKey(), LEASE_MS)).catch(() => undefined)
    if (claim?.state === 'claimed') break
    await sleep(50)
  }
  return performance.now() - startedAt
}

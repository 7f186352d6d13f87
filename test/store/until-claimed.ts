import { setTimeout as sleep } from 'node:timers/promises'
import type { Claim, Store } from 'postern'

/** Longer than any test runs, so that no claim becomes free by itself. */
const LEASE_MS = 600_000

/** Claims until it succeeds, as senders do: a store refuses claims while its engine, or the machine, is slow. The test's limit ends it. */
export async function untilClaimed(
  store: Store,
  toKey: () => string,
  leaseMs = LEASE_MS,
): Promise<Extract<Claim, { readonly state: 'claimed' }>> {
  for (;;) {
    const claim = await Promise.resolve(store.claim(toKey(), leaseMs)).catch(() => undefined)
    if (claim?.state === 'claimed') return claim
    await sleep(50)
  }
}

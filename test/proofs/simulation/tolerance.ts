/** A call without an answer is given up after this time. */
const CALL_LIMIT_MS = 3_000
/** The promised time until a failed renewal is repeated. */
const RETRY_MS = 1_000
/** The time that network and timers add to any of these times. */
const SLACK_MS = 1_000

/**
 * Returns the longest outage or stall that does not cost a lease: as promised, the lease less one renewal. After a stall, the renewals that
 * became due are made when it ends.
 */
export function bearableMs(leaseMs: number): number {
  return (leaseMs * 2) / 3 - SLACK_MS
}

/** The time for which a process must be healthy between two outages, so that they count as two. */
export const RECOVERY_MS = RETRY_MS + CALL_LIMIT_MS + SLACK_MS

/** Two stalls with less than this between them count as one. */
export const STALLS_APART_MS = SLACK_MS

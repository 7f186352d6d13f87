/** A call that hears nothing is given up after this time. */
const CALL_LIMIT_MS = 3_000
/** How soon, as promised, a renewal that failed is tried again. */
const RETRY_MS = 1_000
/** What network and timers add to any of these times. */
const SLACK_MS = 1_000

/** Returns how long an outage may be without costing a lease: as promised, the lease less one renewal. */
export function bearableOutageMs(leaseMs: number): number {
  return (leaseMs * 2) / 3 - SLACK_MS
}

/** Returns how long a stall may be: the renewals that fell due are made when it ends. */
export function bearableStallMs(leaseMs: number): number {
  return (leaseMs * 2) / 3 - SLACK_MS
}

/** How long a process has to be well between two outages, so that they count as two. */
export const RECOVERY_MS = RETRY_MS + CALL_LIMIT_MS + SLACK_MS

/** Two stalls with less than this between them count as one. */
export const STALLS_APART_MS = SLACK_MS

// The service's numbers (sections 2.4, 3.2 and 8 of its interface, told in docs/service.md), and ours that follow, are defined only here.

/** Delay in milliseconds before each delivery attempt, counted from the end of the failed one before it. */
export const ATTEMPT_DELAYS_MS: readonly number[] = [0, 30_000, 300_000, 1_800_000, 7_200_000]

/** Attempts that the service makes before it marks a delivery as failed; after that only a manual retry follows. */
export const MAX_ATTEMPTS: number = ATTEMPT_DELAYS_MS.length

/** The service counts an attempt as failed when no 2xx came within this many milliseconds of its start. */
export const SERVICE_DEADLINE_MS = 10_000

/** Default deadline of our answer, which leaves time for the network. */
export const DEFAULT_DEADLINE_MS = 8_000

/** Longest deadline, which leaves half a second for the network. */
export const MAX_DEADLINE_MS = 9_500

/** Time limit of a call to the store, in milliseconds. */
export const STORE_LIMIT_MS = 3_000

/** Minimum time for which a store must keep events: the five attempts span 2 h 36 min. */
export const MIN_MEMORY_MS = 3 * 3_600_000

/** Default time for which done events are kept, so that manual retries are recognized. */
export const DEFAULT_RETENTION_MS = 7 * 24 * 3_600_000

/** The delay before the second attempt, in seconds, told to the sender as `Retry-After`. */
export const RETRY_AFTER_SECONDS = 30

/** Longest envelope fields that we take, in UTF-16 code units. */
export const MAX_ID_LENGTH = 1_024
export const MAX_TYPE_LENGTH = 256
export const MAX_ACCOUNT_KEY_LENGTH = 256

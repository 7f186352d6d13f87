/** The worker's access to its engine. */
export interface EngineAddress {
  readonly name: EngineName
  /** A URL, or the path of a file. */
  readonly at: string
}

/**
 * Engines with `-transaction`, and `-outage`, also write rows of the user's own in the handler's transaction. With `inbox-`, events are
 * accepted first, and then handled by processes some of which accept as well; with `-lanes`, those of a record one at a time.
 */
export const ENGINE_NAMES = [
  'memory',
  'redis',
  'postgres',
  'postgres-transaction',
  'sqlite',
  'sqlite-transaction',
  'inbox-sqlite',
  'inbox-sqlite-transaction',
  'inbox-sqlite-outage',
  'inbox-sqlite-lanes',
  'inbox-bullmq-redis',
  'inbox-postgres',
  'inbox-postgres-transaction',
  'inbox-postgres-lanes',
] as const

export type EngineName = (typeof ENGINE_NAMES)[number]

/** The settings of a worker at its start. */
export interface WorkerSettings {
  readonly engine: EngineAddress
  /** The worker's use of an inbox. */
  readonly role: 'accept' | 'work' | 'both'
  readonly journalPath: string
  readonly leaseMs: number
  /** The probability that one of an event's handlers fails. */
  readonly failureRate: number
}

/** The port is 0 for a worker that accepts no deliveries. */
export type FromWorker = { readonly port: number } | { readonly residentBytes: number }

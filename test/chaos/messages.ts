/** How a worker reaches its engine. */
export interface EngineAddress {
  readonly name: EngineName
  /** A URL, or the path of a file. */
  readonly at: string
}

/**
 * Those with `-transaction`, and `-outage`, also write rows of the user's own in the handler's transaction. Behind `inbox-` events are
 * accepted at first, and worked off by processes some of which accept as well.
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
  'inbox-bullmq-redis',
  'inbox-bullmq-postgres',
] as const

export type EngineName = (typeof ENGINE_NAMES)[number]

/** What a worker is started with. */
export interface WorkerSettings {
  readonly engine: EngineAddress
  /** What it does with an inbox. */
  readonly role: 'accept' | 'work' | 'both'
  readonly journalPath: string
  readonly leaseMs: number
  /** How often one of the handlers of an event fails. */
  readonly failureRate: number
}

/** The port is 0 of one that takes no deliveries. */
export type FromWorker = { readonly port: number } | { readonly residentBytes: number }

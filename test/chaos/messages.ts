/** How a worker reaches its engine. */
export interface EngineAddress {
  readonly name: EngineName
  /** A URL, or the path of a file. */
  readonly at: string
}

/** Those with `-transaction` also write rows of the user's own in the handler's transaction. */
export const ENGINE_NAMES = [
  'memory',
  'redis',
  'postgres',
  'postgres-transaction',
  'sqlite',
  'sqlite-transaction',
] as const

export type EngineName = (typeof ENGINE_NAMES)[number]

/** What a worker is started with. */
export interface WorkerSettings {
  readonly engine: EngineAddress
  readonly journalPath: string
  readonly leaseMs: number
  /** How often one of the handlers of an event fails. */
  readonly failureRate: number
}

export type FromWorker = { readonly port: number } | { readonly residentBytes: number }

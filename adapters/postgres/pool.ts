/** What a query gives: rows as arrays, where `rowMode` asks for that. */
export interface PgResult {
  readonly rows: readonly unknown[]
  readonly command?: string
}

export interface PgQuery {
  readonly text: string
  readonly values?: unknown[]
  readonly rowMode?: 'array'
  /** How long the answer is waited for, in milliseconds. */
  readonly query_timeout?: number
}

/** What the store uses of a client of `pg`, checked out of its pool. */
export interface PgClient {
  query(query: PgQuery): Promise<PgResult>
  release(destroy?: boolean): void
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
}

/** What the store uses of a `Pool` of `pg`: a pool of pg itself fits, and so does what wraps one. */
export interface PgPool {
  connect(): Promise<PgClient>
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'connect', listener: (client: PgClient) => void): unknown
  /** Whether `end()` was called. */
  readonly ending?: boolean
  readonly options?: { readonly max?: number | undefined }
}

/** The client that a pool gives, by the form of `connect` that gives a promise. */
export type ClientOf<P> = P extends { connect: { (): Promise<infer C>; (callback: never): unknown } }
  ? C
  : P extends { connect(): Promise<infer C> }
    ? C
    : never

/** A statement that has no answer by then never gets one: its connection is dropped. Receivers wait for 3 s. */
export const STATEMENT_LIMIT_MS = 10_000

const DEFAULT_MAX = 10

/** How many connections a pool may have open. */
export function maxOf({ options }: PgPool): number {
  return options?.max ?? DEFAULT_MAX
}

/**
 * Keeps connections that break from ending the process, as they do where nobody listens: idle ones, which the pool replaces, and new
 * ones whose server takes its leave in the same breath as it lets them in, before whoever asked for them could listen.
 */
export function keepAlive(pool: PgPool): void {
  pool.on('error', ignore)
  pool.on('connect', (client) => client.on('error', ignore))
}

/**
 * Checks a client out. Errors of its connection are kept from ending the process while it is out: whoever uses it learns of them by
 * the query that fails. `giveBack(false)` closes the connection, and with it whatever is going on there.
 *
 * @param signal ends the waiting; without one, it is as long as for a statement. A client that comes later goes straight back.
 * @param onError is called where the connection breaks while nothing is asked of it
 */
export async function checkOut(
  pool: PgPool,
  signal?: AbortSignal | undefined,
  onError: () => void = ignore,
): Promise<CheckedOut> {
  const client = await connectInTime(pool, signal)
  client.on('error', onError)
  let isOut = true
  const giveBack = (isSound: boolean) => {
    if (!isOut) return
    isOut = false
    client.release(!isSound)
    // The pool listens again where it keeps the client; a connection that is being closed may still fail.
    if (isSound) client.removeListener('error', onError)
  }
  return { client, giveBack }
}

function connectInTime(pool: PgPool, signal: AbortSignal | undefined): Promise<PgClient> {
  return new Promise((resolve, reject) => {
    let isGivenUp = false
    const giveUp = () => {
      isGivenUp = true
      reject(
        signal?.reason ??
          new Error(
            `No connection within ${STATEMENT_LIMIT_MS} ms: the pool has none to spare, or the server does not answer.`,
          ),
      )
    }
    if (signal?.aborted) return giveUp()
    signal?.addEventListener('abort', giveUp, { once: true })
    // An AbortSignal with a time would cost several times as much.
    const timer = signal === undefined ? setTimeout(giveUp, STATEMENT_LIMIT_MS) : undefined
    const stop = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', giveUp)
    }
    pool.connect().then(
      (client) => {
        stop()
        if (isGivenUp) client.release()
        else resolve(client)
      },
      (error: unknown) => {
        stop()
        reject(error)
      },
    )
  })
}

export interface CheckedOut {
  readonly client: PgClient
  giveBack(isSound: boolean): void
}

/** Runs one statement, and gives its rows as arrays. */
export async function runStatement(
  client: PgClient,
  text: string,
  values: unknown[],
): Promise<readonly (readonly unknown[])[]> {
  const { rows } = await client.query({ text, values, rowMode: 'array', query_timeout: STATEMENT_LIMIT_MS })
  return rows as readonly (readonly unknown[])[] // rowMode is "array"
}

const ignore = () => {}

/** The result of a query, with rows as arrays if `rowMode` asks for them. */
export interface PgResult {
  readonly rows: readonly unknown[]
  readonly command?: string | undefined
}

/** A query as `pg` takes it. */
export interface PgQuery {
  readonly text: string
  /** The name of the prepared statement: the connection prepares it once. */
  readonly name?: string | undefined
  readonly values?: unknown[] | undefined
  readonly rowMode?: 'array' | undefined
}

/** The part of a `pg` client that the store uses, on a client that is checked out of its pool. */
export interface PgClient {
  query(query: PgQuery): Promise<PgResult>
  release(destroy?: boolean): void
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
  /** `I` outside of transactions. Since pg 8.21. */
  getTransactionStatus?(): string | null
}

/** The part of a `pg` `Pool` that the store uses: a pool of pg itself fits, and so does a wrapper of one. */
export interface PgPool {
  connect(): Promise<PgClient>
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'connect', listener: (client: PgClient) => void): unknown
  /** True once `end()` was called. */
  readonly ending?: boolean | undefined
  readonly idleCount?: number | undefined
  readonly options?: object | undefined
}

/** The type of a pool's client, by the overload of `connect` that returns a promise. */
export type ClientOf<P> = P extends { connect: { (): Promise<infer C>; (callback: never): unknown } }
  ? C
  : P extends { connect(): Promise<infer C> }
    ? C
    : never

/** The limit for a statement that no receiver waits for, and for the ends of transactions. */
export const STATEMENT_LIMIT_MS = 10_000

export const INSUFFICIENT_PRIVILEGE = '42501'

export interface CheckedOut {
  readonly client: PgClient
  giveBack(isSound: boolean): void
}

export interface CheckOutOptions {
  /** Ends the wait; without it, `limitMs` does. */
  readonly signal?: AbortSignal | undefined
  readonly limitMs?: number
}

/**
 * Checks a client out; one that arrives after the wait has ended goes straight back. While it is out, errors of its connection do not end
 * the process: its user gets them from the query that fails. `giveBack(false)` closes the connection, and so ends everything that runs on
 * it.
 */
export async function checkOut(pool: PgPool, options: CheckOutOptions = {}): Promise<CheckedOut> {
  const client = await connectInTime(pool, options)
  client.on('error', ignore)
  let isOut = true
  const giveBack = (isSound: boolean) => {
    if (!isOut) return
    isOut = false
    const isKept = isSound && isIdle(client)
    client.release(!isKept)
    // The pool listens again if it keeps the client; a connection that is being closed may still fail.
    if (isKept) client.removeListener('error', ignore)
  }
  return { client, giveBack }
}

/** Returns whether a client is outside of transactions, as far as the driver knows. */
export function isIdle(client: PgClient): boolean {
  return (client.getTransactionStatus?.() ?? 'I') === 'I'
}

/** Runs a function on a connection, and returns the connection to the pool; closes it if the function fails. */
export async function useOnce<T>({ client, giveBack }: CheckedOut, what: (client: PgClient) => Promise<T>): Promise<T> {
  let isSound = false
  try {
    const value = await what(client)
    isSound = true
    return value
  } finally {
    giveBack(isSound)
  }
}

async function connectInTime(
  pool: PgPool,
  { signal, limitMs = STATEMENT_LIMIT_MS }: CheckOutOptions,
): Promise<PgClient> {
  signal?.throwIfAborted()
  const connecting = pool.connect()
  let giveUp = () => {}
  const isOver = new Promise<never>((_resolve, reject) => {
    const why = `No connection within ${limitMs} ms: the pool has none free, or the server does not answer.`
    giveUp = () => reject(signal?.reason ?? new Error(why))
  })
  signal?.addEventListener('abort', giveUp, { once: true })
  // AbortSignal.timeout() would cost several times as much.
  const timer = signal === undefined ? setTimeout(giveUp, limitMs) : undefined
  try {
    return await Promise.race([connecting, isOver])
  } catch (error) {
    connecting.then((client) => client.release(), ignore)
    throw error
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', giveUp)
  }
}

export interface RunOptions {
  /** A statement with values must be the only one in its message. */
  readonly values?: unknown[]
  readonly name?: string | undefined
  readonly limitMs?: number
}

/** No answer arrived in time. The connection must be closed: later statements on it wait behind this one. */
export class TimedOut extends Error {
  constructor(limitMs: number) {
    super(`the limit of ${limitMs} ms is over`)
  }
}

/** Runs statements in one message. Returns the rows of the last one as arrays, or throws `TimedOut`. */
export async function runStatement(
  client: PgClient,
  text: string,
  { values = [], name, limitMs = STATEMENT_LIMIT_MS }: RunOptions = {},
): Promise<readonly (readonly unknown[])[]> {
  const named = name === undefined ? undefined : { name }
  const result = await answerInTime(client.query({ ...named, text, values, rowMode: 'array' }), limitMs)
  const last: PgResult = Array.isArray(result) ? result.at(-1) : result
  return last.rows as readonly (readonly unknown[])[] // rowMode is "array"
}

/** The driver's own limit of a single query, `query_timeout`, has no effect before pg 8.21. */
function answerInTime(answer: Promise<PgResult>, limitMs: number): Promise<PgResult> {
  return new Promise((resolve, reject) => {
    // After the event loop was blocked, the answer may already be there: it is read before callbacks of setImmediate run.
    const timer = setTimeout(() => setImmediate(() => reject(new TimedOut(limitMs))), limitMs)
    answer.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/** The server may have run a statement or not: its answer did not arrive, or is not conclusive. */
export class NoAnswer extends Error {
  constructor(cause: unknown, message = `Postgres did not answer: ${Object(cause).message}`) {
    super(message, { cause })
  }
}

/** Returns the SQLSTATE with which the server refused a statement. No SQLSTATE class begins with E, as the codes of sockets do: EPIPE. */
export function sqlStateOf(error: unknown): string | undefined {
  const code: unknown = Object(error).code
  return typeof code === 'string' && /^[0-9A-DF-Z][0-9A-Z]{4}$/.test(code) ? code : undefined
}

const ignore = () => {}

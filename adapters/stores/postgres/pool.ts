/** What a query gives: rows as arrays, where `rowMode` asks for that. */
export interface PgResult {
  readonly rows: readonly unknown[]
  readonly command?: string
}

export interface PgQuery {
  readonly text: string
  /** The connection prepares the statement once, and knows it by this name. */
  readonly name?: string
  readonly values?: unknown[]
  readonly rowMode?: 'array'
}

/** What the store uses of a client of `pg`, checked out of its pool. */
export interface PgClient {
  query(query: PgQuery): Promise<PgResult>
  release(destroy?: boolean): void
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
  /** `I` outside of transactions. Since pg 8.21. */
  getTransactionStatus?(): string | null
}

/** What the store uses of a `Pool` of `pg`: a pool of pg itself fits, and so does what wraps one. */
export interface PgPool {
  connect(): Promise<PgClient>
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'connect', listener: (client: PgClient) => void): unknown
  /** Whether `end()` was called. */
  readonly ending?: boolean
  readonly idleCount?: number
  readonly options?: { readonly max?: number | undefined }
}

/** The client that a pool gives, by the form of `connect` that gives a promise. */
export type ClientOf<P> = P extends { connect: { (): Promise<infer C>; (callback: never): unknown } }
  ? C
  : P extends { connect(): Promise<infer C> }
    ? C
    : never

/** A statement that a receiver waits for has no use after this time: its connection is dropped. */
export const CALL_LIMIT_MS = 3_000
/** The same for what nobody waits for, and for the ends of transactions. */
export const STATEMENT_LIMIT_MS = 10_000

/** The SQLSTATE of what a user may not do. */
export const INSUFFICIENT_PRIVILEGE = '42501'

const DEFAULT_MAX = 10

/** How many connections a pool may have open. */
export function maxOf({ options }: PgPool): number {
  return options?.max ?? DEFAULT_MAX
}

export interface CheckedOut {
  readonly client: PgClient
  giveBack(isSound: boolean): void
}

export interface CheckOutOptions {
  /** Ends the waiting; without one, `limitMs` does. */
  readonly signal?: AbortSignal | undefined
  readonly limitMs?: number
  /** Is called if the connection breaks while nothing is asked of it. */
  readonly onError?: () => void
}

/** No connection was to be had in time. */
class NoConnection extends Error {
  constructor(limitMs: number) {
    super(`No connection within ${limitMs} ms: the pool has none to spare, or the server does not answer.`)
  }
}

/**
 * Checks a client out; one that comes after the waiting has ended goes straight back. Errors of its connection are kept from ending the
 * process while it is out: whoever uses it learns of them by the query that fails. `giveBack(false)` closes the connection, and with
 * it whatever is going on there.
 */
export async function checkOut(pool: PgPool, options: CheckOutOptions = {}): Promise<CheckedOut> {
  const { onError = ignore } = options
  const client = await connectInTime(pool, options)
  client.on('error', onError)
  let isOut = true
  const giveBack = (isSound: boolean) => {
    if (!isOut) return
    isOut = false
    const isKept = isSound && isIdle(client)
    client.release(!isKept)
    // The pool listens again where it keeps the client; a connection that is being closed may still fail.
    if (isKept) client.removeListener('error', onError)
  }
  return { client, giveBack }
}

/** Whether a client is outside of transactions, by what the driver knows. */
export function isIdle(client: PgClient): boolean {
  return (client.getTransactionStatus?.() ?? 'I') === 'I'
}

/** Does something on a connection, and gives it back; it is closed if that fails. */
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

function connectInTime(pool: PgPool, { signal, limitMs = STATEMENT_LIMIT_MS }: CheckOutOptions): Promise<PgClient> {
  return new Promise((resolve, reject) => {
    let isGivenUp = false
    const giveUp = () => {
      isGivenUp = true
      reject(signal?.reason ?? new NoConnection(limitMs))
    }
    if (signal?.aborted) return giveUp()
    signal?.addEventListener('abort', giveUp, { once: true })
    // An AbortSignal with a time would cost several times as much.
    const timer = signal === undefined ? setTimeout(giveUp, limitMs) : undefined
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

export interface RunOptions {
  /** A statement with values is alone in its message. */
  readonly values?: unknown[]
  readonly name?: string | undefined
  readonly limitMs?: number
}

/** No answer came in time. The connection has to be closed: what is sent there waits behind the statement. */
export class TimedOut extends Error {
  constructor(limitMs: number) {
    super(`the limit of ${limitMs} ms is over`)
  }
}

/**
 * Runs statements that go in one message, and returns the rows of the last one as arrays.
 *
 * @throws TimedOut
 */
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
    // After a block of the event loop the answer may lie there: it is read before what is set for immediately.
    const timer = setTimeout(() => setImmediate(() => reject(new TimedOut(limitMs))), limitMs)
    answer.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/** The server may have carried out a statement, or not: its answer did not come, or does not count. */
export class NoAnswer extends Error {
  constructor(cause: unknown, message = `Postgres did not answer: ${Object(cause).message}`) {
    super(message, { cause })
  }
}

/** The SQLSTATE that the server refused a statement with. No class of them begins with E, as the codes of sockets do: EPIPE. */
export function sqlStateOf(error: unknown): string | undefined {
  const code: unknown = Object(error).code
  return typeof code === 'string' && /^[0-9A-DF-Z][0-9A-Z]{4}$/.test(code) ? code : undefined
}

const ignore = () => {}

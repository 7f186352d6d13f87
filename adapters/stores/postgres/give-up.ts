import { connect } from 'node:net'
import { STORE_LIMIT_MS } from '../../../src/engine.ts'
import { type PgClient, runStatement, sqlStateOf } from './pool.ts'

/** The server waits for a lock for shorter than the caller: otherwise the connection of each call that was given up would stay, waiting. */
export const LOCKED_FOR_MS = STORE_LIMIT_MS - 500
/** Time between two looks of the server for the process that it works for. Servers before version 14 do not look. */
const LOOK_EVERY_MS = 1_000
/** The number of the protocol's message that cancels. */
const CANCEL = 80_877_102

/** Fields of a client of `pg`. */
interface Cancellable extends PgClient {
  readonly host?: unknown
  readonly port?: unknown
  readonly processID?: unknown
  readonly secretKey?: unknown
}

/**
 * Makes the server give up first what the connection waits for, and see what others have committed, even if that is not the database's default.
 * Returns false if there is a pooler between them: its sessions are those of other processes as well.
 */
export async function prepareSession(client: Cancellable): Promise<boolean> {
  const text = `SELECT set_config(name, value, false)
FROM (VALUES ('lock_timeout', '${LOCKED_FOR_MS}'), ('client_connection_check_interval', '${LOOK_EVERY_MS}'),
  ('default_transaction_isolation', 'read committed')) AS s (name, value)
WHERE pg_backend_pid() = ${Number(client.processID ?? 0)} AND current_setting(name, true) IS NOT NULL`
  try {
    return (await runStatement(client, text, { limitMs: STORE_LIMIT_MS })).length > 0
  } catch (error) {
    // Some systems cannot look. Neither setting is set then.
    if (sqlStateOf(error) !== undefined) return false
    throw new Error(`Postgres did not answer: ${Object(error).message}`, { cause: error })
  }
}

/** Cancels what a connection waits for. Resolves when that was passed on, or cannot be. */
export function cancel({ host, port, processID, secretKey }: Cancellable): Promise<void> {
  if (typeof host !== 'string' || typeof processID !== 'number' || typeof secretKey !== 'number')
    return Promise.resolve()
  const message = Buffer.alloc(16)
  for (const [index, part] of [message.length, CANCEL, processID, secretKey].entries())
    message.writeInt32BE(part, 4 * index)
  const isSocket = host.startsWith('/')
  const socket = connect(isSocket ? { path: `${host}/.s.PGSQL.${port}` } : { host, port: Number(port) })
  socket.on('error', () => {})
  socket.setTimeout(LOOK_EVERY_MS, () => socket.destroy())
  socket.write(message) // the other side ends the connection: a pooler passes nothing on for a client that has left
  return new Promise((resolve) => socket.on('close', () => resolve()))
}

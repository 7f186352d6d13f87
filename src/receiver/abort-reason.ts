import type { HandlerError } from '../protocol/errors.ts'
import { quote } from '../protocol/show.ts'
import type { Run } from './run.ts'

/** The reasons for which what still runs of an event is told to stop. */
export type AbortCode = 'handler_timeout' | 'lease_lost' | 'worker_closed'

/** @param names of the handlers that still run; none while it is the schema */
export function toAbortReason(
  run: Run,
  code: AbortCode,
  handlerTimeoutMs: number,
  names: readonly string[],
): HandlerError {
  const type = quote(run.type)
  const what = names.length === 0 ? 'schema' : 'handlers'
  const message = {
    handler_timeout: `The ${what} of ${type} ran for ${handlerTimeoutMs} ms (handlerTimeoutMs).`,
    lease_lost: `Another process has taken over ${type} while its ${what} ran here.`,
    worker_closed: `The ${what} of ${type} were still running when the timeout of their worker's close() ended. The event returns to the inbox, and the try does not count.`,
  }[code]
  return run.toError(code, message, names)
}

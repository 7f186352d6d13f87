import { codeOf, type Outcome } from './outcome.ts'
import { RETRY_AFTER_SECONDS } from './schedule.ts'

/** The HTTP answer of a delivery. Adapters write it as it is. */
export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** JSON text: a code word, and the event id once the signature held. */
  readonly body: string
  /** The rest of the request can't be waited for: the connection ends after this answer. */
  readonly close: boolean
  /** The time, in milliseconds, for which the rest of the request is read and thrown away before the socket is ended. */
  readonly drainMs: number
}

const JSON_ONLY = { 'content-type': 'application/json' }
const WITH_ALLOW = { ...JSON_ONLY, allow: 'POST' }
const WITH_RETRY = { ...JSON_ONLY, 'retry-after': String(RETRY_AFTER_SECONDS) }

/** Returns the reply for an outcome. It never contains a message, a stack, issues or a secret: anyone may read it. */
export function toReply(outcome: Outcome, close: boolean, drainMs: number): Reply {
  const { status, id } = outcome
  const headers = status === 409 || status === 503 ? WITH_RETRY : status === 405 ? WITH_ALLOW : JSON_ONLY
  const code = `{"code":"${status === 401 ? 'unauthorized' : codeOf(outcome)}"`
  const body = id === undefined ? `${code}}` : `${code},"id":${JSON.stringify(id)}}`
  return { status, headers, body, close, drainMs }
}

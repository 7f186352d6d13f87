import type { Inbox } from '../../../src/inbox/inbox.ts'
import { ConfigurationError } from '../../../src/protocol/errors.ts'

/** Inbox of another process, with what closes the connection to its engine. */
export interface EngineInbox {
  readonly inbox: Inbox
  /** Set if there is no such inbox: a sentence that says so. */
  readonly missing?: string | undefined
  close(): void | Promise<void>
}

/** Returns the owner's error for an inbox that a command cannot open. If several addresses were tried, the message has the first one's reason. */
export function toUnreachable(cause: unknown): ConfigurationError {
  if (cause instanceof ConfigurationError) return cause
  const [first = cause] = Object(cause).errors ?? [] // of an AggregateError
  const why = Object(first).message ?? String(first)
  return new ConfigurationError('database_unusable', `The inbox cannot be reached: ${why}`, { cause })
}

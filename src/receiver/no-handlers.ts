import { PosternError } from '../protocol/errors.ts'
import type { WebhookEvent } from '../protocol/events.ts'
import type { Outcome } from '../protocol/outcome.ts'
import type { Shared } from './shared.ts'

const NO_HANDLERS =
  'A signed event came in, but no handler is registered. Handlers are often registered in a module that nothing imports: import it before the receiver is mounted. Until then deliveries are answered 500, so that the service sends them again.'

/** The outcome of every event of a receiver without handlers. */
export function failWithoutHandlers(
  { reporter }: Shared,
  { id, type, accountKey }: Pick<WebhookEvent, 'id' | 'type' | 'accountKey'>,
): Outcome {
  const error = new PosternError('no_handlers', NO_HANDLERS)
  reporter.errorOnce(error)
  return { outcome: 'error', status: 500, code: 'no_handlers', error, id, type, accountKey }
}

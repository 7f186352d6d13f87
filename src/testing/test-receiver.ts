import type { WebhookEvent } from '../protocol/events.ts'
import type { Outcome } from '../protocol/outcome.ts'
import type { Interceptor } from '../receiver/intercept.ts'
import { type HandlerRecorder, recordHandlers } from './recorder.ts'

/** A receiver with its recorder. */
export interface TestedReceiver {
  /** What the handlers did. */
  readonly handled: HandlerRecorder
  /** Hands an event to the handlers, with schemas and deduplication but no signature. */
  dispatch(event: WebhookEvent<string, unknown>): Promise<Outcome>
}

/**
 * For tests of handlers: no app, no secret, no clock.
 *
 * @throws ConfigurationError `registration_frozen`
 * @example
 * const { dispatch, handled } = testReceiver(receiver)
 * await dispatch(events.contact.created({ email: 'zoe@example.test' }))
 * expect(handled).toHaveHandled('contact.created', { email: 'zoe@example.test' })
 */
export function testReceiver(receiver: {
  intercept(interceptor: Interceptor): unknown
  dispatch(event: WebhookEvent<string, unknown>): Promise<Outcome>
}): TestedReceiver {
  return { handled: recordHandlers(receiver), dispatch: (event) => receiver.dispatch(event) }
}

import type { WebhookEvent } from '../protocol/events.ts'
import type { Outcome } from '../protocol/outcome.ts'
import type { Interceptor } from '../receiver/intercept.ts'
import { type HandlerRecorder, recordHandlers } from './recorder.ts'

/** Receiver with its recorder. */
export interface TestedReceiver {
  /** Recorder of the handler runs. */
  readonly handled: HandlerRecorder
  /** Dispatches an event to the handlers, with schemas and deduplication but without a signature. */
  dispatch(event: WebhookEvent<string, unknown>): Promise<Outcome>
}

/**
 * Prepares a receiver for tests of its handlers, without an app, a secret or a clock.
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

/** Codes of errors for the owner of an app, with their meanings. `docs/reference/errors.md` explains the fixes. Codes of refusals are in `outcome.ts`. */
export const ERROR_CODES = {
  option_unknown: 'a function was given an option that does not exist',
  option_invalid: 'an option has a value that cannot work',
  secret_unusable: 'a signing secret is missing, empty, in quotes, has blanks at its edges, or is no secret',
  driver_missing: 'no driver for the database is installed, or none that runs on this version of Node',
  database_unusable: 'the database of a store cannot be opened, or cannot store events durably',
  store_shared: 'two receivers with the same name use the same store',
  pattern_invalid: 'the pattern given to .on() can never match an event',
  handler_invalid: 'what was given to .on() or .intercept() is not a function, or its name cannot be used',
  handler_unnamed: 'a second handler was registered for a pattern without a name of its own',
  handler_name_clash: 'two handlers that can run for one event have the same name',
  registration_frozen: '.on() or .intercept() was called after the first delivery',
  no_handlers: 'a signed event came in, but no handler is registered at all, or a worker has none for its type',
  body_consumed:
    'the exact bytes of a body were not there to check its signature, usually because a body parser came first',
  answer_unsent:
    'the answer to a delivery was not sent: something else had answered the request, or the response failed',
  delivery_passed_on: 'an adapter that answers one path did not answer a signed POST to another',
  event_invalid: 'dispatch() was given something that is not an event',
  dispatch_within: 'a handler gave dispatch() the event that it handles itself',
  secrets_unavailable:
    "the secrets function, or an adapter's source option, threw, took too long, or returned something unusable",
  secret_unbound:
    'a secrets function that chooses by source or account returned a secret that is not bound to an account',
  store_unavailable: 'the store failed or did not answer in time',
  no_inbox: 'receiver.work() was called, but the receiver has no inbox',
  inbox_shared: 'two receivers use the same inbox',
  inbox_unavailable: 'the inbox failed or did not answer in time',
  dead_letter: 'an event of the inbox is not retried automatically',
  worker_closed: 'a worker was closed while the handlers of an event ran; context.signal was aborted',
  schema_failed: 'a schema threw, left a promise, or refused the record of an accepted event',
  handler_failed: 'one or more handlers threw or rejected',
  handler_timeout: 'the handlers ran for longer than handlerTimeoutMs; context.signal was aborted',
  handler_abandoned:
    'a handler did not end within 5 s of its abort, or its host stopped it, and is no longer waited for',
  lease_lost: 'another process took over the event while its handlers ran here',
  event_outdated: 'a newer event of the record was committed by the same handler; the transaction was rolled back',
  interceptor_skipped: 'an interceptor ended without running the handler',
  transaction_misused:
    'context.transaction was called twice, after its handler had ended, or with work that cannot be a transaction',
  hook_failed: 'onOutcome, onError, lane, waitUntil or a logger method threw',
  unexpected:
    'an adapter or Postern itself failed: a defect, a request that lacks something, or an object of the app that cannot be looked at',
  login_refused: 'the service refused the e-mail address and password of the client',
  token_refused: 'the service refused a token that it had just issued',
  rate_limited: 'the rate limit was still exceeded after every wait',
  not_found: 'the account has no such webhook or delivery',
  not_retriable: 'the delivery cannot be retried, usually because it has not failed',
  request_refused: 'the service refused a call of the client',
  service_failed: 'the service answered every attempt with a 5xx',
  service_unreachable: 'the service sent no answer, or an incomplete one',
  redirect_refused: 'the service answered with a redirect, which the client does not follow',
  answer_unusable: "the service's answer does not contain what was asked for",
  secret_not_saved: 'saveSecret failed; the new webhook was deleted again',
  webhook_not_ours: 'an active webhook of the URL has a secret that is not saved here',
  outcome_unknown: 'a call that must not be repeated blindly may have been carried out, or not',
  emulator_refused: 'a call of the emulator names something that does not exist, or a value that it does not accept',
  port_in_use: 'the emulator cannot listen on its port',
} as const

/** A code of {@link ERROR_CODES}. Match on it, never on a message. */
export type ErrorCode = keyof typeof ERROR_CODES

/**
 * Something that the owner of the app has to repair. Thrown when a receiver is made or a handler is registered, and given to
 * `onError` at run time. Tell errors apart by `code`, which stays the same across copies and versions of the package.
 */
export class PosternError extends Error {
  override readonly name: string = 'PosternError'
  readonly code: ErrorCode

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** An option, a secret, a pattern or a handler that cannot work. Thrown by the call that it was passed to; the message says the fix. */
export class ConfigurationError extends PosternError {
  override readonly name = 'ConfigurationError'
}

/** Handlers that failed, were abandoned, or lost their lease. `cause` is what the handler threw, or an `AggregateError` if several failed. */
export class HandlerError extends PosternError {
  override readonly name = 'HandlerError'
  /** Names of the handlers concerned. */
  readonly handlers: readonly string[]
  readonly eventId: string
  readonly eventType: string
  readonly accountKey: string

  constructor(
    code: ErrorCode,
    message: string,
    about: Pick<HandlerError, 'handlers' | 'eventId' | 'eventType' | 'accountKey'>,
    options?: ErrorOptions,
  ) {
    super(code, message, options)
    this.handlers = about.handlers
    this.eventId = about.eventId
    this.eventType = about.eventType
    this.accountKey = about.accountKey
  }
}

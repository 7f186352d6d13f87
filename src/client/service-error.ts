import { type ErrorCode, PosternError } from '../protocol/errors.ts'

/** What is known of a call that failed. */
export interface FailedCall {
  /** Method and path, such as `GET /api/sales/contacts`. */
  readonly route: string
  /** Status of the last answer; undefined where none came. */
  readonly status?: number | undefined
  /** How many times the request was sent. */
  readonly attempts?: number | undefined
  /** What the service said, as far as a message was found in its answer. */
  readonly serviceMessage?: string | undefined
  /** The text of a refusal, cut to 2 KB. Never that of a 2xx answer: those carry secrets. */
  readonly body?: string | undefined
  /** How long the service asked to be left alone, in milliseconds. */
  readonly retryAfterMs?: number | undefined
}

/**
 * A call to the service's API that came to nothing. Tell errors apart by `code`. Passwords, tokens and signing secrets are struck
 * out of everything that stands in it.
 */
export class ServiceError extends PosternError {
  override readonly name = 'ServiceError'
  readonly route: string
  readonly status: number | undefined
  readonly attempts: number | undefined
  readonly serviceMessage: string | undefined
  readonly body: string | undefined
  readonly retryAfterMs: number | undefined

  constructor(code: ErrorCode, message: string, call: FailedCall, options?: ErrorOptions) {
    super(code, message, options)
    this.route = call.route
    this.status = call.status
    this.attempts = call.attempts
    this.serviceMessage = call.serviceMessage
    this.body = call.body
    this.retryAfterMs = call.retryAfterMs
  }
}

/** Whether this is a failed call with one of these codes. Goes by the code, so that another copy of the package doesn't matter. */
export function hasCode(error: unknown, ...codes: readonly ErrorCode[]): boolean {
  return error instanceof Error && 'code' in error && codes.some((code) => code === error.code)
}

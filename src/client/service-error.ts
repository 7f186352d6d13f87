import { type ErrorCode, PosternError } from '../protocol/errors.ts'
import { isError } from '../protocol/show.ts'

/** Facts about a failed call. */
export interface FailedCall {
  /** Method and path, such as `GET /api/sales/contacts`. */
  readonly route: string
  /** Status of the last answer; undefined if none came. */
  readonly status?: number | undefined
  /** Number of times the request was sent. */
  readonly attempts?: number | undefined
  /** Message of the service, if one was found in its answer. */
  readonly serviceMessage?: string | undefined
  /** Body of a refusal, truncated to 2 KB. Never the body of a 2xx answer, which may hold secrets. */
  readonly body?: string | undefined
  /** Wait that the service asked for, in milliseconds. */
  readonly retryAfterMs?: number | undefined
}

/**
 * Error of a failed call of the service's API. Tell errors apart by `code`. Passwords, tokens and signing secrets are redacted from
 * all its fields.
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

/** Returns true if this is a failed call with one of these codes. Compares codes, so that it works across two copies of the package. */
export function hasCode(error: unknown, ...codes: readonly ErrorCode[]): boolean {
  return isError(error) && 'code' in error && codes.some((code) => code === error.code)
}

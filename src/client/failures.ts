import type { ErrorCode } from '../protocol/errors.ts'
import { parseJson } from '../protocol/parse-json.ts'
import { isRedirect } from '../protocol/redirect.ts'
import { chainOf, codeOf, type Redactor } from './redactor.ts'
import { type FailedCall, ServiceError } from './service-error.ts'

const MAX_TEXT = 2_048

/** Failures that occur before a byte of the request was sent. */
const NOT_SENT = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
])

export function wasNotSent(failure: unknown): boolean {
  return chainOf(failure).some((each) => NOT_SENT.has(codeOf(each) ?? ''))
}

export interface WholeAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

export interface CallFacts extends FailedCall {
  readonly attempts: number
  readonly isLogin: boolean
  /** True if the call is idempotent: it may be sent again even if the service may have processed it. */
  readonly isRepeatable: boolean
}

export function failureOf(failure: unknown, call: CallFacts, redactor: Redactor): ServiceError {
  const cause = redactor.redactError(failure)
  const { route, attempts, isRepeatable } = call
  if (isRepeatable || wasNotSent(failure)) {
    const tries = attempts === 1 ? '1 try' : `${attempts} tries`
    const message = `${route}: no answer after ${tries} (${cause.message}). Is the base URL right, and the service up?`
    return new ServiceError('service_unreachable', message, call, { cause })
  }
  return outcomeUnknown(cause.message, call, { cause })
}

export function refusalOf(reply: WholeAnswer, call: CallFacts, redactor: Redactor): ServiceError {
  const { status } = reply
  const text = redactor.redact(reply.text)
  const serviceMessage = findMessage(text)
  const facts = { ...call, status, body: text.slice(0, MAX_TEXT), serviceMessage }
  if (isRedirect(status)) {
    const message = `${call.route}: the service redirects${targetOf(reply)}. Redirects are not followed, since they would carry the credentials elsewhere. Give the final address as baseUrl.`
    return new ServiceError('redirect_refused', message, facts)
  }
  const said = serviceMessage === undefined ? '' : `: ${toLine(serviceMessage)}`
  if (status >= 500 && !call.isRepeatable) return outcomeUnknown(`status ${status}${said}`, facts)
  const [code, meaning] = codeFor(status, call.isLogin)
  return new ServiceError(code, `${call.route}: ${meaning} (status ${status}${said})`, facts)
}

/** Text of the service within a message: on a line of its own it could pose as another message, in a log or at a terminal. */
function toLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
}

function codeFor(status: number, isLogin: boolean): readonly [ErrorCode, string] {
  if (status === 429) return ['rate_limited', 'the rate limit is still exceeded after waiting']
  if (status >= 500) return ['service_failed', 'the service failed']
  if (isLogin && (status === 404 || status === 405))
    return ['service_unreachable', 'there is no login at this address. Is the base URL right?']
  if (isLogin) return ['login_refused', 'the service refuses the e-mail address and password']
  if (status === 401) return ['token_refused', 'the service refuses a token that it has just given']
  if (status === 404 || status === 403) return ['not_found', 'there is no such thing in this account']
  return ['request_refused', 'the service refuses the request']
}

function outcomeUnknown(what: string, call: FailedCall, options?: ErrorOptions): ServiceError {
  const message = `${call.route}: it is not known if the call took effect (${what}). It is not repeated automatically; check before you repeat it.`
  return new ServiceError('outcome_unknown', message, call, options)
}

function targetOf({ headers }: WholeAnswer): string {
  const location = headers.get('location')
  if (location === null || !URL.canParse(location)) return ''
  return ` to ${new URL(location).origin}` // the rest may repeat the request
}

/** Finds the message in the body of an error, in any form (assumption A17). Ignores HTML pages. */
function findMessage(text: string): string | undefined {
  const trimmed = text.trim()
  if (trimmed === '' || trimmed.startsWith('<')) return undefined
  const body = parseJson(trimmed)
  return (body === undefined ? trimmed : messageIn(body, 0))?.slice(0, 300)
}

const MESSAGE_NAMES = ['message', 'detail', 'error_description', 'title', 'error', 'errors']

function messageIn(value: unknown, depth: number): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value
  if (typeof value !== 'object' || value === null || depth > 3) return undefined
  if (Array.isArray(value)) {
    const parts = value.map((each) => messageIn(each, depth + 1)).filter((part) => part !== undefined)
    return parts.length === 0 ? undefined : parts.join('; ')
  }
  for (const name of MESSAGE_NAMES) {
    const found = messageIn(Reflect.get(value, name), depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}

import { STATUS_CODES } from 'node:http'
import { PosternError } from '../../src/protocol/errors.ts'
import type { Assumed } from './assumptions.ts'

/** Status of each refusal by the control interface, and by the service unless assumptions change it. */
export const STATUS_OF = {
  'bad-request': 400,
  'bad-json': 400,
  invalid: 422,
  unauthorized: 401,
  'login-refused': 401,
  forbidden: 403,
  unknown: 404,
  'of-another-account': 404,
  method: 405,
  'not-failed': 409,
  exists: 409,
  'too-large': 413,
  'media-type': 415,
  'rate-limit': 429,
  full: 503,
  'inbox-away': 503,
  fault: 500,
} as const

export type RefusalKind = keyof typeof STATUS_OF

export type RefusalStatus = (typeof STATUS_OF)[RefusalKind]

/** Joins lines, some of which end a sentence. */
const join = (lines: readonly string[]) => lines.join('; ').replaceAll('.; ', '; ')

/** Refused call: an error status over HTTP, an exception in code. */
export class Refusal extends PosternError {
  readonly kind: RefusalKind
  /** Lines of the message, one for each problem. */
  readonly messages: readonly string[]

  constructor(kind: RefusalKind, ...messages: readonly string[]) {
    super('emulator_refused', join(messages))
    this.kind = kind
    this.messages = messages
  }
}

const LOGIN = { 400: 400, 401: 401, 403: 403 } as const
const NOT_FAILED = { 400: 400, 409: 409, 422: 422, accepted: 409 } as const

/** Returns the status of a refusal by the service (A14, A18, A19, A20). */
export function assumedStatusOf(
  kind: RefusalKind,
  { retryOfUnfailed, errorStatus, foreignIdStatus, refusedLoginStatus }: Assumed,
): RefusalStatus {
  if (kind === 'login-refused') return LOGIN[refusedLoginStatus]
  if (kind === 'of-another-account') return foreignIdStatus === '403' ? 403 : 404
  if (kind === 'not-failed') return NOT_FAILED[retryOfUnfailed]
  if (errorStatus === 'merged' && kind === 'invalid') return 400
  if (errorStatus === 'merged' && kind === 'method') return 404
  return STATUS_OF[kind]
}

/** Writes the body of an error (A17); undefined if it has none. */
export function showError(
  { kind, messages }: Pick<Refusal, 'kind' | 'messages'>,
  status: number,
  form: Assumed['errorBody'],
) {
  const error = STATUS_CODES[status] ?? 'Error'
  const message = join(messages)
  const json = (value: object, contentType = 'application/json') => ({ body: JSON.stringify(value), contentType })
  switch (form) {
    case 'flat':
      return json({ statusCode: status, error, message })
    case 'nested':
      return json({ error: { code: kind.replaceAll('-', '_'), message } })
    case 'messages':
      return json({ statusCode: status, message: messages })
    case 'problem':
      return json({ type: 'about:blank', title: error, status, detail: message }, 'application/problem+json')
    case 'text':
      return status === 401 || status === 429
        ? { body: `${error}: ${message}`, contentType: 'text/plain; charset=utf-8' }
        : { body: htmlOf(status, error), contentType: 'text/html; charset=utf-8' }
    case 'empty':
      return undefined
  }
}

function htmlOf(status: number, error: string): string {
  return `<!doctype html><html><head><title>${status} ${error}</title></head><body><h1>${error}</h1></body></html>\n`
}

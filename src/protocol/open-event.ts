import { authenticate, importSecrets, type Secrets } from './authenticate.ts'
import { withModel } from './envelope.ts'
import { type AnyEvent, splitType } from './events.ts'
import { REJECTION_STATUS, Rejection, type RejectionCode } from './outcome.ts'
import { NO_RECORD } from './pattern.ts'
import { serviceProtocol } from './protocol.ts'
import { type HeaderValue, mustBeHeader, mustBeRaw, mustEndWithSecrets } from './signature.ts'
import { SIGNATURE_NAME } from './signature-name.ts'

/** An event, or the reason that there is none: answer the request with `status`, and tell nobody but the owner of the app `reason`. */
type OpenedEvent =
  | { readonly event: AnyEvent; readonly code?: undefined; readonly status?: undefined; readonly reason?: undefined }
  | { readonly event: undefined; readonly code: RejectionCode; readonly status: number; readonly reason: string }

const SERVICE = serviceProtocol(SIGNATURE_NAME)

/**
 * Verifies a signed body, and parses its event. For what needs neither handlers nor deduplication: a receiver does all of this itself.
 *
 * @param body the exact bytes; or text, with the limits that `verify` names
 * @param header the value of `X-Service-Signature`
 * @param secrets as for `createReceiver`; an event of another account than that of its secret is refused
 * @throws ConfigurationError `secret_unusable`, `option_invalid`; PosternError `body_consumed` if the body is neither bytes nor text
 * @example
 * const opened = openEvent(body, request.get('X-Service-Signature'), process.env.WEBHOOK_SECRET)
 * if (opened.event === undefined) return response.sendStatus(opened.status)
 * console.log(opened.event.type)
 */
export function openEvent(body: Uint8Array | string, header: HeaderValue, secrets: Secrets | undefined): OpenedEvent
export function openEvent(
  body: Uint8Array | string,
  header: HeaderValue,
  secrets: Secrets | undefined,
  next?: unknown,
): OpenedEvent {
  mustBeRaw(body)
  mustBeHeader(header)
  mustEndWithSecrets(next)
  const keys = importSecrets(secrets, SERVICE)
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  const head = SERVICE.readGiven({ signature: header }, 0)
  const opened = head instanceof Rejection ? head : authenticate(bytes, head, keys, SERVICE)
  if (!(opened instanceof Rejection))
    return { event: withModel(opened.event, splitType(opened.event.type) ?? NO_RECORD) }
  const { code, reason } = opened
  return { event: undefined, code, status: REJECTION_STATUS[code], reason }
}

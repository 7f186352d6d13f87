import { PosternError } from '../protocol/errors.ts'

/** Reason of a refused call. Each has a status; some depend on assumptions. */
export type RefusalKind =
  | 'bad-request'
  | 'bad-json'
  | 'invalid'
  | 'unauthorized'
  | 'login-refused'
  | 'forbidden'
  | 'unknown'
  | 'of-another-account'
  | 'method'
  | 'not-failed'
  | 'exists'
  | 'too-large'
  | 'media-type'
  | 'rate-limit'
  | 'full'
  | 'inbox-away'
  | 'fault'

/** Refused call: an error status over HTTP, an exception in code. */
export class Refusal extends PosternError {
  readonly kind: RefusalKind
  /** Lines of the message, one for each problem. */
  readonly messages: readonly string[]

  constructor(kind: RefusalKind, ...messages: readonly string[]) {
    super('emulator_refused', messages.join('; '))
    this.kind = kind
    this.messages = messages
  }
}

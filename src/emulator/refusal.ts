import { PosternError } from '../protocol/errors.ts'

/** Reason of a refused call. Each has a status; some depend on what is assumed. */
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

/** A call that is refused: over HTTP an error status, in code an exception. */
export class Refusal extends PosternError {
  readonly kind: RefusalKind
  /** One line for each thing that is wrong. */
  readonly messages: readonly string[]

  constructor(kind: RefusalKind, ...messages: readonly string[]) {
    super('emulator_refused', messages.join('; '))
    this.kind = kind
    this.messages = messages
  }
}

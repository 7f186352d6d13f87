import type { RequestHead } from '../protocol/head.ts'
import type { Reply } from './reply.ts'

/** Why a body could not be read. `fix` tells the owner of the app what to change, for `body_consumed`. */
export interface BodyFailure {
  readonly failure: 'body_too_large' | 'body_incomplete' | 'body_consumed'
  readonly fix?: string
}

/** What an adapter makes of its framework's request. */
export interface DeliveryRequest extends RequestHead {
  /**
   * Reads the exact bytes of the body, `limit` of them at most. The receiver doesn't wait for it beyond the deadline; what is still
   * to come by then, the adapter throws away for as long as the reply's `drainMs` says.
   */
  read(limit: number): Uint8Array | BodyFailure | Promise<Uint8Array | BodyFailure>
  /** Which registration or tenant the route is for. A throw is the app's failure, and answered 503. */
  source?(): string | undefined
  /** Keeps a serverless host awake for work that goes on after the answer. */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined
}

/** What adapters need of a receiver, whatever its models are. */
export interface Receives {
  handle(request: DeliveryRequest): Promise<Reply>
}

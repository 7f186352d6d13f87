import type { RequestHead } from '../protocol/head.ts'

/** A body that could not be read. `fix` tells the owner of the app what to change, for `body_consumed`. */
export type BodyFailure = {
  readonly failure: 'body_too_large' | 'body_incomplete' | 'body_consumed'
  readonly fix?: string | undefined
}

/** Limits the memory of a body while an adapter reads it. */
export type BodyIntake = {
  /** Counts a fragment that is being kept. Returns false if nothing more of the body is wanted. */
  take(bytes: number): boolean
  /** Counts beforehand what a body may cost, for hosts that keep the fragments. Returns false if that would take more than half of `maxBufferedBytes`. */
  reserve(bytes: number): boolean
  /** Set by the adapter: frees what it has kept. Called if the receiver answers without the rest. */
  onCut?: (() => void) | undefined
}

/** A request as an adapter presents it to the receiver. */
export type DeliveryRequest = RequestHead & {
  /**
   * Reads the exact bytes of the body, at most `limit`. What has not come by the deadline, the adapter throws away for as long as `drainMs` of
   * the reply says. It returns a failure if the connection ends: a throw counts as a defect of the adapter or its host, `unexpected`.
   */
  read(limit: number, intake: BodyIntake): Uint8Array | BodyFailure | Promise<Uint8Array | BodyFailure>
  /** Which registration or tenant the route is for. A throw is the app's failure, and answered 503. */
  readonly source?: (() => string | undefined) | undefined
  /** Keeps a serverless host awake for work that goes on after the answer. */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined
  /** Calls back once the answer is written, or cannot be any more. Without it, `close` leaves the host a second for the answers that `handle` has returned. */
  onAnswered?(callback: () => void): void
}

/** Options that every adapter takes. */
export interface AdapterOptions<Request> {
  /** Returns which registration or tenant a request is for, from its route. It runs before the signature is checked. */
  readonly source?: ((request: Request) => string | undefined) | undefined
  /** Keeps a serverless host awake for handlers that end after the answer. */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined
}

/** What a handler gets beside its event. */
export interface HandlerContext {
  /**
   * Aborts at `handlerTimeoutMs`, or when another process has taken over the event: `signal.reason` is an error with the code
   * `handler_timeout` or `lease_lost`. Hand it to fetch and database calls. It does not abort at the deadline of the delivery:
   * what ends a little late is kept, and the next attempt is answered at once.
   */
  readonly signal: AbortSignal
  /** This handler's name: its pattern, or the name it was given. Its finish mark stands under it. */
  readonly handlerName: string
  /** Which registration or tenant the request was for, where the adapter has a `source` option. */
  readonly source: string | undefined
}

/**
 * Handles one event. The event counts as handled once the promise it returns is fulfilled. A throw or a rejection, of anything,
 * makes the service try again later, and then only the handlers that did not finish run.
 */
export type Handler<Event> = (event: Event, context: HandlerContext) => unknown

export interface HandlerOptions {
  /**
   * The handler's name, unique among handlers that can run for one event. Give one to a handler whose pattern may change or has
   * company: the finish mark of an event that is half done stands under it, across deployments.
   */
  readonly name?: string
}

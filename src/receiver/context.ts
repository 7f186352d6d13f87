import type { PosternError } from '../protocol/errors.ts'
import { ignoreRejection } from '../protocol/promises.ts'
import type { HandlerContext } from './handler.ts'
import type { EventRequest } from './run.ts'

/** Value of `signal` until it is read; console.log prints its name. */
class UnreadSignal {}
const UNREAD: unknown = new UnreadSignal()

/**
 * The second argument of a handler. All properties are own properties, so that `{ ...context }` has them. The signal is created at its first
 * read, by a proxy: that costs 1 % of a delivery, an accessor on each context 5 %.
 */
export class Context implements HandlerContext {
  declare signal: AbortSignal
  declare readonly handlerName: string
  declare readonly source: string | undefined
  declare readonly attempt: HandlerContext['attempt']
  declare readonly receivedAt: number
  declare readonly rawBody: string | undefined
  /** Absent if the store has no transactions. */
  declare readonly transaction?: HandlerTransaction['run']
  readonly #running: { readonly signal: AbortSignal }

  static readonly #whenRead: ProxyHandler<Context> = {
    get(context, name) {
      if (name === 'signal') context.#makeSignal()
      return Reflect.get(context, name)
    },
    preventExtensions(context) {
      context.#makeSignal() // afterwards, `signal` cannot be assigned any more
      return Reflect.preventExtensions(context)
    },
  }

  constructor(
    running: { readonly signal: AbortSignal },
    handlerName: string,
    first: EventRequest,
    rawBody: string | undefined,
    transaction: HandlerTransaction | undefined,
  ) {
    this.#running = running
    this.signal = UNREAD as AbortSignal // the proxy returns the real one
    this.handlerName = handlerName
    this.source = first.source
    this.attempt = first.attempt
    this.receivedAt = first.receivedAt
    this.rawBody = rawBody
    if (transaction !== undefined) this.transaction = transaction.run
    // biome-ignore lint/correctness/noConstructorReturn: the proxy is the context
    return new Proxy(this, Context.#whenRead)
  }

  #makeSignal(): void {
    if (this.signal === UNREAD) this.signal = this.#running.signal
  }
}

/** Parts of an attempt that the transaction of a handler needs. */
interface TransactionParts {
  /** Commits what `work` writes together with the handler's finish mark. */
  commit(signal: AbortSignal, work: (tx: never) => unknown, onThrown: (error: unknown) => void): Promise<unknown>
  /** Reports a misuse, and returns the error for the handler. */
  refuse(why: string): PosternError
  /** Called if the store reports that another process has the event. */
  onLeaseLost(): void
}

/** The transaction of a handler, which it may run once, as its last step. */
export class HandlerTransaction {
  /** True once it is committed: the handler counts as finished, even if it still runs. */
  isCommitted = false
  /** Settles when the transaction is committed or rolled back. Undefined if none has begun. */
  ended: Promise<unknown> | undefined
  isBegun = false
  /** True if it was rolled back because a newer event of the record was committed meanwhile. */
  isOutdated = false
  readonly #parts: TransactionParts
  readonly #rollBack = new AbortController()
  #isClosed = false

  constructor(parts: TransactionParts) {
    this.#parts = parts
  }

  /** A property, so that handlers can destructure their context. */
  readonly run = <T>(work: (tx: never) => T | PromiseLike<T>, next?: unknown): Promise<T> => {
    const why = this.#whyNot(work, next)
    const ended = why === undefined ? this.#begin(work) : Promise.reject<T>(this.#parts.refuse(why))
    if (why === undefined) this.ended = ended
    // If it fails, the handler fails too, even if it does not await it.
    ignoreRejection(ended)
    return ended
  }

  /** Called when the handler has ended. From then on, `run` is refused. */
  close(): void {
    this.#isClosed = true
  }

  /** Called when the handler failed or was given up: rolls back an open transaction. */
  abort(reason: unknown): void {
    this.#isClosed = true
    this.#rollBack.abort(reason)
  }

  async #begin<T>(work: (tx: never) => T | PromiseLike<T>): Promise<T> {
    this.isBegun = true // before the store calls `work`, which may call `run` again
    let thrown: { readonly error: unknown } | undefined
    try {
      const value = await this.#parts.commit(this.#rollBack.signal, work, (error) => {
        thrown = { error }
      })
      this.isCommitted = true
      return value as T // a store returns what `work` returned
    } catch (error) {
      // An error of the app may have the same code: it comes from another receiver.
      const code: unknown = error === thrown?.error ? undefined : Object(error).code
      if (code === 'lease_lost') this.#parts.onLeaseLost()
      this.isOutdated = code === 'event_outdated'
      throw error
    }
  }

  #whyNot(work: unknown, next: unknown): string | undefined {
    if (this.#isClosed)
      return 'was called after the handler had ended, or was given up. Await all that comes before it.'
    if (this.isBegun)
      return 'was called a second time. Do everything in one transaction, or register a handler for the rest.'
    if (next !== undefined) return 'takes the work alone: its transaction has no options.'
    return typeof work === 'function' ? undefined : 'takes a function: context.transaction((tx) => …).'
  }
}

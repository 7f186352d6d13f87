import type { PosternError } from '../protocol/errors.ts'
import { ignoreRejection } from '../protocol/promises.ts'
import type { HandlerContext } from './handler.ts'
import type { Run } from './run.ts'

/** The second argument of a handler. Its properties are its own and enumerable, so that a spread copies them. */
export class Context implements HandlerContext {
  declare readonly signal: AbortSignal
  readonly handlerName: string
  readonly source: string | undefined
  readonly attempt: HandlerContext['attempt']
  readonly receivedAt: number
  readonly rawBody: string | undefined
  /** Absent if the store has no transactions. */
  declare readonly transaction?: HandlerTransaction['run']
  readonly #running: { readonly signal: AbortSignal }

  /** One descriptor for all: with a function of its own, an accessor costs 10 % of a delivery instead of 1 %. */
  static readonly #signal: PropertyDescriptor & ThisType<Context> = {
    enumerable: true,
    get() {
      return this.#running.signal
    },
  }

  constructor(
    running: { readonly signal: AbortSignal },
    handlerName: string,
    { first, text }: Run,
    transaction: HandlerTransaction | undefined,
  ) {
    this.#running = running
    this.handlerName = handlerName
    this.source = first.source
    this.attempt = first.attempt
    this.receivedAt = first.receivedAt
    this.rawBody = text
    if (transaction !== undefined) this.transaction = transaction.run
    Object.defineProperty(this, 'signal', Context.#signal)
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
  /** True if the handler counts as finished, even if it still runs. */
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
  readonly run = <T>(work: (tx: never) => T | PromiseLike<T>): Promise<T> => {
    const why = this.#whyNot(work)
    const ended = why === undefined ? this.#begin(work) : Promise.reject<T>(this.#parts.refuse(why))
    if (why === undefined) this.ended = ended
    // A handler that does not await it fails with it all the same.
    ignoreRejection(ended)
    return ended
  }

  /** Called when the handler has ended: it can begin no transaction any more. */
  close(): void {
    this.#isClosed = true
  }

  /** Called when the handler failed or was given up: rolls back an open transaction. */
  abort(reason: unknown): void {
    this.#isClosed = true
    this.#rollBack.abort(reason)
  }

  async #begin<T>(work: (tx: never) => T | PromiseLike<T>): Promise<T> {
    this.isBegun = true // a store may call `work` synchronously, which may begin another one
    let thrown: { readonly error: unknown } | undefined
    try {
      const value = await this.#parts.commit(this.#rollBack.signal, work, (error) => {
        thrown = { error }
      })
      this.isCommitted = true
      return value as T // a store returns what `work` returned
    } catch (error) {
      // The app may throw an error with the same code, of another receiver.
      const code: unknown = error === thrown?.error ? undefined : Object(error).code
      if (code === 'lease_lost') this.#parts.onLeaseLost()
      this.isOutdated = code === 'event_outdated'
      throw error
    }
  }

  #whyNot(work: unknown): string | undefined {
    if (this.#isClosed)
      return 'was called after the handler had ended, or was given up. Await all that comes before it.'
    if (this.isBegun)
      return 'was called a second time. Do everything in one transaction, or register a handler for the rest.'
    return typeof work === 'function' ? undefined : 'takes a function: context.transaction((tx) => …).'
  }
}

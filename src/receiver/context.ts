import type { PosternError } from '../protocol/errors.ts'
import { ignoreRejection } from '../protocol/promises.ts'
import type { HandlerContext, TransactionContext } from './handler.ts'
import type { Run } from './run.ts'
import type { Shared } from './shared.ts'

/** The second argument of a handler. Each has one of its own, with its name. */
export class Context implements HandlerContext {
  readonly handlerName: string
  readonly source: string | undefined
  readonly #attempt: { readonly signal: AbortSignal }

  constructor(attempt: { readonly signal: AbortSignal }, handlerName: string, source: string | undefined) {
    this.#attempt = attempt
    this.handlerName = handlerName
    this.source = source
  }

  get signal(): AbortSignal {
    return this.#attempt.signal
  }
}

export class TransactingContext extends Context implements TransactionContext<never> {
  readonly transaction: HandlerTransaction['run']

  constructor(
    attempt: { readonly signal: AbortSignal },
    handlerName: string,
    source: string | undefined,
    transaction: HandlerTransaction,
  ) {
    super(attempt, handlerName, source)
    this.transaction = transaction.run
  }
}

type Commit = (
  signal: AbortSignal,
  work: (tx: never) => unknown,
  onThrown: (error: unknown) => void,
) => Promise<unknown>

/** The one transaction that a handler may run, as its last step. */
export class HandlerTransaction {
  /** Whatever the handler still does, it has finished. */
  isCommitted = false
  /** Settles when the transaction has been committed or rolled back; undefined as long as none was begun. */
  ended: Promise<unknown> | undefined
  /** A handler that ends without waiting for it has not finished. */
  isBegun = false
  /** A newer event of the record was committed meanwhile: nothing was written, and nothing is to be. */
  isOutdated = false
  readonly #commit: Commit
  readonly #refuse: (why: string) => PosternError
  readonly #onLeaseLost: () => void
  readonly #rollBack = new AbortController()
  #isClosed = false

  /**
   * @param commit commits what `work` writes together with the handler's finish mark
   * @param refuse reports a misuse, and returns the error for the handler
   * @param onLeaseLost is called if the store said that another process has the event
   */
  constructor(commit: Commit, refuse: (why: string) => PosternError, onLeaseLost: () => void) {
    this.#commit = commit
    this.#refuse = refuse
    this.#onLeaseLost = onLeaseLost
  }

  /** A property, so that a handler can take it out of its context. */
  readonly run = <T>(work: (tx: never) => T | PromiseLike<T>): Promise<T> => {
    const why = this.#whyNot(work)
    const ended = why === undefined ? this.#begin(work) : Promise.reject<T>(this.#refuse(why))
    if (why === undefined) this.ended = ended
    // A handler need not wait for it: it fails with it all the same, and a misuse is told to the owner.
    ignoreRejection(ended)
    return ended
  }

  /** The handler has ended: it can begin no transaction any more. */
  close(): void {
    this.#isClosed = true
  }

  /** The handler failed or was given up: what is not committed yet is rolled back. */
  abort(reason: unknown): void {
    this.#isClosed = true
    this.#rollBack.abort(reason)
  }

  async #begin<T>(work: (tx: never) => T | PromiseLike<T>): Promise<T> {
    this.isBegun = true // a store may call `work` immediately, which may ask for another one
    let thrown: { readonly error: unknown } | undefined
    try {
      const value = await this.#commit(this.#rollBack.signal, work, (error) => {
        thrown = { error }
      })
      this.isCommitted = true
      return value as T // a store returns what `work` returned
    } catch (error) {
      // Only the store knows about the lease and the order: the app may throw an error of another receiver.
      const code: unknown = error === thrown?.error ? undefined : Object(error).code
      if (code === 'lease_lost') this.#onLeaseLost()
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

/** Reports a misuse of a handler's transaction, and returns the error for the handler. */
export function refuseTransaction(shared: Shared, run: Run, handler: string, why: string): PosternError {
  const message = `context.transaction() of the handler ${handler} ${why}`
  const error = run.toError('transaction_misused', message, [handler])
  shared.reporter.error(error)
  return error
}

import type { PosternError } from '../protocol/errors.ts'
import { ignoreRejection } from '../protocol/promises.ts'
import type { HandlerContext, TransactionContext } from './handler.ts'
import type { Run } from './run.ts'
import type { Shared } from './shared.ts'

/** The second argument of a handler. */
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

/** The transaction of a handler, which it may run once, as its last step. */
export class HandlerTransaction {
  /** True if the handler counts as finished, even if it still runs. */
  isCommitted = false
  /** Settles when the transaction is committed or rolled back. Undefined if none has begun. */
  ended: Promise<unknown> | undefined
  isBegun = false
  /** True if it was rolled back because a newer event of the record was committed meanwhile. */
  isOutdated = false
  readonly #commit: Commit
  readonly #refuse: (why: string) => PosternError
  readonly #onLeaseLost: () => void
  readonly #rollBack = new AbortController()
  #isClosed = false

  /**
   * @param commit commits what `work` writes together with the handler's finish mark
   * @param refuse reports a misuse, and returns the error for the handler
   * @param onLeaseLost is called if the store reports that another process has the event
   */
  constructor(commit: Commit, refuse: (why: string) => PosternError, onLeaseLost: () => void) {
    this.#commit = commit
    this.#refuse = refuse
    this.#onLeaseLost = onLeaseLost
  }

  /** A property, so that handlers can destructure their context. */
  readonly run = <T>(work: (tx: never) => T | PromiseLike<T>): Promise<T> => {
    const why = this.#whyNot(work)
    const ended = why === undefined ? this.#begin(work) : Promise.reject<T>(this.#refuse(why))
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
      const value = await this.#commit(this.#rollBack.signal, work, (error) => {
        thrown = { error }
      })
      this.isCommitted = true
      return value as T // a store returns what `work` returned
    } catch (error) {
      // The app may throw an error with the same code, of another receiver.
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

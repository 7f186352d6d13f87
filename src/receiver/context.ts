import type { PosternError } from '../protocol/errors.ts'
import type { HandlerContext, TransactionContext } from './handler.ts'
import { isThenable } from './within.ts'

/** What a context asks of the work that its handler is part of. */
export interface ContextOwner {
  readonly signal: AbortSignal
  /** Begins a transaction under the claim of the work. */
  transact(mark: string, signal: AbortSignal, work: (tx: never) => unknown): Promise<unknown>
  /** Whatever the handler still does, it has finished. */
  onCommitted(handlerName: string): void
  onThrewAfterCommit(handlerName: string, thrown: unknown): void
  /** The store said that another process has the event. */
  loseLease(): void
  /** Tells the owner of the app, and gives the error for the handler. */
  refuseTransaction(handlerName: string, why: string): PosternError
}

/** Per handler, so that each knows its name. */
export class WorkContext implements HandlerContext {
  readonly handlerName: string
  readonly source: string | undefined
  readonly #owner: ContextOwner

  constructor(owner: ContextOwner, handlerName: string, source: string | undefined) {
    this.#owner = owner
    this.handlerName = handlerName
    this.source = source
  }

  get signal(): AbortSignal {
    return this.#owner.signal
  }
}

/** The same on a store with transactions: the handler ends with the transaction that it began. */
export class TransactingContext extends WorkContext implements TransactionContext<never> {
  /** A property of its own, so that a handler can take it out of its context. */
  readonly transaction: <T>(work: (tx: never) => T | PromiseLike<T>) => Promise<T>
  readonly #owner: ContextOwner
  readonly #rollBack = new AbortController()
  #transaction: Promise<unknown> | undefined
  #isCommitted = false
  #isOver = false

  constructor(owner: ContextOwner, handlerName: string, source: string | undefined) {
    super(owner, handlerName, source)
    this.#owner = owner
    this.transaction = (work) => {
      const transaction = this.#transact(work)
      // A handler need not wait for it: it fails by it all the same.
      transaction.catch(ignore)
      return transaction
    }
  }

  /** Runs the handler. What this throws or rejects with is why the handler has not finished. */
  run(handler: (context: this) => unknown): unknown {
    let result: unknown
    try {
      result = handler(this)
      if (!isThenable(result) && this.#transaction === undefined) return this.#close()
    } catch (error) {
      result = Promise.reject(error)
    }
    return this.#settle(result)
  }

  /** Nobody waits for the handler any more: what is not committed yet is rolled back. */
  abandon(reason: unknown): void {
    this.#close()
    this.#rollBack.abort(reason)
  }

  async #settle(result: unknown): Promise<void> {
    try {
      await result
      this.#close()
      await this.#transaction
    } catch (error) {
      this.abandon(error)
      await this.#transaction?.catch(ignore)
      if (!this.#isCommitted) throw error
      this.#owner.onThrewAfterCommit(this.handlerName, error)
    }
  }

  #close(): void {
    this.#isOver = true
  }

  #transact<T>(work: (tx: never) => T | PromiseLike<T>): Promise<T> {
    const why = this.#whyNot(work)
    if (why !== undefined) return Promise.reject(this.#owner.refuseTransaction(this.handlerName, why))
    const transaction = this.#commit(work)
    this.#transaction = transaction
    return transaction
  }

  async #commit<T>(work: (tx: never) => T | PromiseLike<T>): Promise<T> {
    try {
      const value = await this.#owner.transact(this.handlerName, this.#rollBack.signal, work)
      this.#isCommitted = true
      this.#owner.onCommitted(this.handlerName)
      return value as T // a store gives what `work` gave
    } catch (error) {
      if (isLeaseLost(error)) this.#owner.loseLease()
      throw error
    }
  }

  #whyNot(work: unknown): string | undefined {
    if (this.#isOver) return 'was called after the handler had ended, or was given up. Await all that comes before it.'
    if (this.#transaction !== undefined)
      return 'was called a second time. Do everything in one transaction, or register a handler for the rest.'
    return typeof work === 'function' ? undefined : 'takes a function: context.transaction((tx) => …).'
  }
}

/** What a handler's work throws may be anything, also something that can't be looked at. */
function isLeaseLost(error: unknown): boolean {
  try {
    return (error as { readonly code?: unknown }).code === 'lease_lost' // null and undefined throw, and are caught
  } catch {
    return false
  }
}

const ignore = () => {}

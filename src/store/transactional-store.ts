import { PosternError } from '../protocol/errors.ts'
import { ignoreRejection, isThenable, refuseUnfinished } from '../protocol/promises.ts'
import type { Position, Store } from './store.ts'

/** Which handler's transaction it is, and what fences it. */
export interface TransactionClaim {
  readonly key: string
  /** Token of the claim that the handler runs under. */
  readonly token: string
  /** The handler's finish mark, to be committed with its writes. */
  readonly mark: string
  /** Position of a handler with `order: 'latest'`: advanced with its writes, and only if no later one is kept. */
  readonly position?: Position | undefined
  /** Aborts when nobody waits for the handler any more: what is not committed by then is to be rolled back. */
  readonly signal: AbortSignal
}

/**
 * A store on a database in which handlers can write as well. `transaction` runs `work` in a transaction of its own and commits what
 * it wrote together with the finish mark: after a crash at any moment there are both or neither.
 *
 * It commits only while the last claim of the key is this one, the event is not done, and the mark is not there yet. Otherwise
 * it rolls back and rejects with a `PosternError` of the code `lease_lost`; with `event_outdated` if a later position than that of the
 * claim is kept by then. That the lease has ended is no hindrance if nobody took the
 * key since. No other call of the store may have to wait for `work`. It rejects with whatever `work` throws, and if it cannot be
 * known whether the commit was carried out.
 */
export interface TransactionalStore<Tx> extends Store {
  transaction<T>(claim: TransactionClaim, work: (tx: Tx) => T | PromiseLike<T>): Promise<T>
}

/**
 * A transactional store on a database whose driver blocks: `work` has to end without waiting, since a transaction that were open across an
 * `await` would take in the writes of others. A receiver refuses `work` that returns a promise by throwing within it.
 */
export interface SyncTransactionalStore<Tx> extends Store {
  transactionSync<T>(claim: TransactionClaim, work: (tx: Tx) => T): T | Promise<T>
}

/**
 * Runs `work` in a transaction of the store. Never throws: it rejects.
 *
 * @param onThrown gets what `work` throws, or what it is refused with, before the store does
 */
export type Transact = (
  claim: TransactionClaim,
  work: (tx: never) => unknown,
  onThrown: (error: unknown) => void,
) => Promise<unknown>

/** Returns the transactions of a store, whichever kind it has; undefined if it has none. */
export function toTransact(store: Store): Transact | undefined {
  const { transaction, transactionSync } = store as Partial<
    TransactionalStore<never> & SyncTransactionalStore<never> // that they are functions was checked with the options
  >
  const watched = (work: (tx: never) => unknown, onThrown: (error: unknown) => void) => {
    const fail = (error: unknown): never => {
      onThrown(error)
      throw error
    }
    return (tx: never) => {
      try {
        // Refused while the transaction is open, so that it is rolled back.
        const result = refuse(work(tx))
        if (!isThenable(result)) return result
        return transaction === undefined ? refusePromise(result) : Promise.resolve(result).then(refuse).catch(fail)
      } catch (error) {
        return fail(error)
      }
    }
  }
  if (transaction !== undefined)
    return async (claim, work, onThrown) => transaction.call(store, claim, watched(work, onThrown))
  if (transactionSync === undefined) return undefined
  return async (claim, work, onThrown) => transactionSync.call(store, claim, watched(work, onThrown))
}

function refuse<T>(value: T): T {
  return refuseUnfinished(value, 'The work of context.transaction()', true)
}

function refusePromise(result: PromiseLike<unknown>): never {
  // It goes on outside the transaction, and may fail there.
  ignoreRejection(result)
  throw new PosternError(
    'transaction_misused',
    'The work of context.transaction() returned a promise. On this store it must not wait for anything: await first, then write.',
  )
}

import { PosternError } from '../protocol/errors.ts'
import type { Store } from '../store/store.ts'
import type { SyncTransactionalStore, TransactionalStore, TransactionClaim } from '../store/transactional-store.ts'
import { isThenable } from './within.ts'

/** Runs `work` in a transaction of the store. It never throws at once. */
export type Transact = (claim: TransactionClaim, work: (tx: never) => unknown) => Promise<unknown>

/** The transactions of a store, of whichever kind; undefined where it has none. */
export function toTransact(store: Store): Transact | undefined {
  const { transaction, transactionSync } = store as Partial<
    TransactionalStore<never> & SyncTransactionalStore<never> // that they are functions was checked with the options
  >
  if (transaction !== undefined) return async (claim, work) => transaction.call(store, claim, work)
  if (transactionSync === undefined) return undefined
  return async (claim, work) => transactionSync.call(store, claim, (tx) => refusePromise(work(tx)))
}

/** By throwing where the store's transaction is still open, so that it is rolled back. */
function refusePromise(result: unknown): unknown {
  if (!isThenable(result)) return result
  // It goes on outside the transaction, and may fail there.
  Promise.resolve(result).then(undefined, () => {})
  throw new PosternError(
    'transaction_misused',
    'The work of context.transaction() gave a promise. On this store it must not wait for anything: await first, and write then.',
  )
}

import type { Store } from '../../store/store.ts'
import { claimCases } from './claim-cases.ts'
import { completeCases } from './complete-cases.ts'
import { modelCases } from './model-cases.ts'
import { orderCases } from './order-cases.ts'
import { outageCases } from './outage-cases.ts'
import { processCases } from './process-cases.ts'
import { releaseCases } from './release-cases.ts'
import { renewCases } from './renew-cases.ts'
import { retentionCases } from './retention-cases.ts'
import { transactionCases } from './transaction-cases.ts'
import { type CaseDefinition, type TransactionTools, Trial, type TrialHost } from './trial.ts'

export interface StoreSuiteOptions {
  /** Lets so many milliseconds pass for the store. Default: waits for them. For stores whose clock the test moves. */
  readonly pass?: (ms: number) => void | Promise<void>
  /** False where a store shares nothing with the next one that is made, as one in memory does. Default true. */
  readonly isShared?: boolean
  /** False where time is that of the process, so that processes whose clocks differ are promised nothing. Default true. */
  readonly hasOwnClock?: boolean
  /** Takes the engine away and brings it back, with all that it had stored. Without it, the cases that need it are left out. */
  readonly outage?: { begin(): void | Promise<void>; end(): void | Promise<void> }
  /** For stores with `transaction` or `transactionSync`: how rows are written and found. Without it, their cases are left out. */
  readonly transaction?: TransactionTools & {
    /** False for stores with `transactionSync`. Default true. */
    readonly isAsynchronous?: boolean
  }
}

/** One thing that every store must do. */
export interface StoreCase {
  readonly name: string
  /** Whether the engine is taken away for a while. All other cases may run at the same time. */
  readonly takesEngineAway: boolean
  /** Rejects where the store does not do it. */
  run(): Promise<void>
}

const LEASE_MS = 600
const MOST_GOES = 5

/**
 * The contract of `Store` as cases for any test runner, which is how a store becomes a supported one. Each works on keys of its own.
 * On a real clock a case that failed where the machine was too slow for it is run again, with longer leases.
 *
 * @param makeStore makes a store on the engine that is tried, always the same one; called several times
 * @example
 * for (const { name, run } of storeSuite((options) => memoryStore(options), { isShared: false })) test(name, run)
 */
export function storeSuite(
  makeStore: (options: { readonly retentionMs?: number }) => Store | Promise<Store>,
  options: StoreSuiteOptions = {},
): readonly StoreCase[] {
  const { pass, outage, transaction, isShared = true, hasOwnClock = true } = options
  const pairs = new Map<number | undefined, ReturnType<TrialHost['stores']>>()
  const makePair = async (given: { readonly retentionMs?: number }) => {
    const store = await makeStore(given)
    return { store, another: isShared ? await makeStore(given) : store }
  }
  const stores: TrialHost['stores'] = (retentionMs) => {
    const pair = pairs.get(retentionMs) ?? makePair(retentionMs === undefined ? {} : { retentionMs })
    pairs.set(retentionMs, pair)
    return pair
  }
  const host: TrialHost = { stores, pass, outage, transaction }
  const isOffered: Readonly<Record<CaseDefinition['needs'] & string, boolean>> = {
    sharing: isShared,
    'engine clock': isShared && hasOwnClock,
    outage: outage !== undefined,
    transaction: transaction !== undefined,
    'asynchronous transaction': transaction !== undefined && transaction.isAsynchronous !== false,
  }
  return CASES.filter(({ needs }) => needs === undefined || isOffered[needs]).map((definition) => ({
    name: definition.name,
    takesEngineAway: definition.needs === 'outage',
    run: () => runInTime(host, definition),
  }))
}

const CASES: readonly CaseDefinition[] = [
  ...claimCases,
  ...renewCases,
  ...completeCases,
  ...releaseCases,
  ...retentionCases,
  ...processCases,
  ...orderCases,
  ...modelCases,
  ...transactionCases,
  ...outageCases,
]

/** No case may fail because the machine is slow: one that took much longer than planned says nothing, and is given more time. */
async function runInTime(host: TrialHost, { retention, run }: CaseDefinition): Promise<void> {
  for (let leaseMs = LEASE_MS; ; leaseMs *= 2) {
    const stores = await host.stores(retention === undefined ? undefined : retention * leaseMs)
    const trial = new Trial(host, stores, leaseMs)
    try {
      return await run(trial)
    } catch (error) {
      if (trial.overrunMs < leaseMs / 8 || leaseMs >= LEASE_MS * 2 ** (MOST_GOES - 1)) throw error
    }
  }
}

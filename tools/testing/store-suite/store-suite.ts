import {
  FLAG,
  FUNCTION,
  type Kind,
  OBJECT,
  OptionChecker,
  whole,
  withMethods,
} from '../../../src/protocol/option-checker.ts'
import type { Store } from '../../../src/store/store.ts'
import { claimCases } from './claim-cases.ts'
import { outageCases, processCases } from './engine-cases.ts'
import { everySequence } from './every-sequence.ts'
import { orderCases } from './order-cases.ts'
import { retentionCases } from './retention-cases.ts'
import { settleCases } from './settle-cases.ts'
import { transactionCases } from './transaction-cases.ts'
import { type CaseDefinition, LATEST_MS, type TransactionTools, Trial, type TrialHost } from './trial.ts'

/** Options of `storeSuite`, by which it learns what the tested store can do. */
export interface StoreSuiteOptions {
  /** Lets milliseconds pass for the store. Default: waits in real time. For stores whose clock the test moves. */
  readonly pass?: ((ms: number) => void | Promise<void>) | undefined
  /** False if two stores share no state, like stores in memory. Default true. */
  readonly isShared?: boolean | undefined
  /** False if the store uses the clock of the process, so that it guarantees nothing for processes whose clocks differ. Default true. */
  readonly hasOwnClock?: boolean | undefined
  /** Stops the engine and starts it again, with all its data. Without it, the cases that need it are omitted. */
  readonly outage?: { begin(): void | Promise<void>; end(): void | Promise<void> } | undefined
  /** The length of the sequences of steps of which every one is tried, 12 ** (depth - 1) of them. Default 4, the least; at most 6. */
  readonly depth?: number | undefined
  /** Tools to write and find rows, for stores with `transaction` or `transactionSync`. Without them, their cases are omitted. */
  readonly transaction?:
    | (TransactionTools & {
        /** False for stores with `transactionSync`. Default true. */
        readonly isAsynchronous?: boolean | undefined
      })
    | undefined
}

const OPTIONS: Readonly<Record<keyof StoreSuiteOptions, Kind>> = {
  pass: FUNCTION,
  isShared: FLAG,
  hasOwnClock: FLAG,
  outage: withMethods('begin', 'end'),
  depth: whole(4, 6),
  transaction: OBJECT,
}

const TRANSACTION = { write: FUNCTION, has: FUNCTION, isAsynchronous: FLAG }

/** Requirement of every store, as a case for a test runner. */
export interface StoreCase {
  readonly name: string
  /** True if the case stops the engine for a while. All other cases may run concurrently. */
  readonly takesEngineAway: boolean
  /** Rejects if the store does not meet it. */
  run(): Promise<void>
}

const LEASE_MS = 600
const LONGEST_LEASE_MS = LEASE_MS * 2 ** 6
const TOO_SLOW =
  'The store, or the machine, is too slow to judge: even with leases of 38 s, a step was late by 2.4 s or more.'

type MakeStore = (options: { readonly retentionMs?: number }) => Store | Promise<Store>

/**
 * Returns the contract of `Store` as cases for any test runner. A store is supported if it passes all of them. Each case uses separate
 * keys. With a real clock, a case that fails on a machine that is too slow is repeated with longer leases.
 *
 * @param makeStore makes a store on the tested engine, always the same one; called several times
 * @example
 * for (const { name, run } of storeSuite((options) => memoryStore(options), { isShared: false })) test(name, run)
 */
export function storeSuite(makeStore: MakeStore, options?: StoreSuiteOptions): readonly StoreCase[]
export function storeSuite(
  makeStore: MakeStore,
  options: StoreSuiteOptions = {},
  next?: unknown,
): readonly StoreCase[] {
  const check = new OptionChecker('storeSuite')
  check.mustBe('makeStore', makeStore, FUNCTION)
  check.mustFit(options, OPTIONS)
  check.mustEnd(next)
  const { pass, outage, transaction, depth = 4, isShared = true, hasOwnClock = true } = options
  if (transaction !== undefined)
    new OptionChecker('storeSuite: transaction').mustFit(transaction, TRANSACTION, ['write', 'has'])
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
  // Its many calls at the same time delay the others, and no engine may be away meanwhile.
  return [...CASES, everySequence(depth), ...outageCases]
    .filter(({ needs }) => needs === undefined || isOffered[needs])
    .map((definition) => ({
      name: definition.name,
      takesEngineAway: definition.needs === 'outage',
      run: () => runInTime(host, definition),
    }))
}

const CASES: readonly CaseDefinition[] = [
  ...claimCases,
  ...settleCases,
  ...retentionCases,
  ...processCases,
  ...orderCases,
  ...transactionCases,
]

/** Judges a case by a trial that was in time, with leases as long as that takes: no case may fail because the machine is slow. */
async function runInTime(host: TrialHost, { retention, run }: CaseDefinition): Promise<void> {
  for (let leaseMs = LEASE_MS; ; leaseMs *= 2) {
    const stores = await host.stores(retention === undefined ? undefined : retention * leaseMs)
    const trial = new Trial(host, stores, leaseMs)
    try {
      return await run(trial)
    } catch (error) {
      if (trial.latestMs < Math.min(leaseMs / 8, LATEST_MS)) throw error
      if (leaseMs >= LONGEST_LEASE_MS) throw new Error(TOO_SLOW, { cause: error })
    }
  }
}

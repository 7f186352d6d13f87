import type { Store } from 'postern'
import { type StoreCase, type StoreSuiteOptions, storeSuite } from 'postern/testing'
import { describe, it } from 'vitest'

type MakeStore = (options: { readonly retentionMs?: number }) => Store | Promise<Store>

/** Ends the tests of a store that never answers: a slow machine needs a fraction of it. */
const LIMIT_MS = 1_800_000
const MOST_AT_ONCE = 16

/** Runs the cases concurrently, since most of their time is waiting for leases to end. Each has its own keys. */
export function itKeepsTheContract(makeStore: MakeStore, options?: StoreSuiteOptions): void {
  const cases = storeSuite(makeStore, options)
  addTests(cases, startOnce(cases))
}

/** Checks several stores, by name, concurrently as well. */
export function theyKeepTheContract(makers: Readonly<Record<string, MakeStore>>): void {
  const suites = Object.entries(makers).map(([name, makeStore]) => ({ name, cases: storeSuite(makeStore) }))
  const most = Math.max(...suites.map(({ cases }) => cases.length))
  // The cases of one store are spread over the time.
  const inTurn = Array.from({ length: most }, (_, index) => suites.flatMap(({ cases }) => cases[index] ?? [])).flat()
  const resultOf = startOnce(inTurn)
  for (const { name, cases } of suites) describe(name, () => addTests(cases, resultOf))
}

type ResultOf = (given: StoreCase) => Promise<unknown>

function addTests(cases: readonly StoreCase[], resultOf: ResultOf): void {
  for (const each of cases) {
    const wait = async () => {
      const failure = await resultOf(each)
      if (failure !== undefined) throw failure
    }
    it.sequential(each.name, each.takesEngineAway ? each.run : wait, LIMIT_MS)
  }
}

/** Starts the cases when the first result is asked for. */
function startOnce(cases: readonly StoreCase[]): ResultOf {
  let started: Map<StoreCase, Promise<unknown>> | undefined
  return async (given) => {
    started ??= startAll(cases.filter(({ takesEngineAway }) => !takesEngineAway))
    return started.get(given)
  }
}

/** Starts each case when the one before it in its row has ended: started concurrently, they would all be late. */
function startAll(cases: readonly StoreCase[]): Map<StoreCase, Promise<unknown>> {
  const rows: Promise<unknown>[] = []
  return new Map(
    cases.map((each, index) => {
      const result = Promise.resolve(rows[index % MOST_AT_ONCE])
        .then(each.run)
        .then(() => undefined, asValue)
      rows[index % MOST_AT_ONCE] = result
      return [each, result]
    }),
  )
}

/** Without a handler, a rejection that no test has requested yet would end the process. */
function asValue(error: unknown): unknown {
  return error ?? new Error('rejected with nothing')
}

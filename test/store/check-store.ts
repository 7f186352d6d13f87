import type { Store } from 'postern'
import { type StoreCase, type StoreSuiteOptions, storeSuite } from 'postern/testing'
import { describe, it } from 'vitest'

type MakeStore = (options: { readonly retentionMs?: number }) => Store | Promise<Store>

const LIMIT_MS = 60_000

/** Waiting for leases to end is most of the suite's work on a real clock, so its cases wait concurrently: each has its own keys. */
export function itKeepsTheContract(makeStore: MakeStore, options?: StoreSuiteOptions): void {
  const cases = storeSuite(makeStore, options)
  addTests(cases, startOnce(cases))
}

/** Checks several stores, by name, which wait concurrently as well. */
export function theyKeepTheContract(makers: Readonly<Record<string, MakeStore>>): void {
  const suites = Object.entries(makers).map(([name, makeStore]) => ({ name, cases: storeSuite(makeStore) }))
  const resultOf = startOnce(suites.flatMap(({ cases }) => cases))
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

/** All cases begin when the first is asked for. */
function startOnce(cases: readonly StoreCase[]): ResultOf {
  let started: Map<StoreCase, Promise<unknown>> | undefined
  return async (given) => {
    started ??= new Map(
      cases.filter(({ takesEngineAway }) => !takesEngineAway).map((each) => [each, each.run().then(nothing, asValue)]),
    )
    return started.get(given)
  }
}

const nothing = () => undefined

/** Without a handler, a rejection that no test has requested yet would end the process. */
function asValue(error: unknown): unknown {
  return error ?? new Error('rejected with nothing')
}

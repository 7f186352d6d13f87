import type { Store } from 'postern'
import { type StoreSuiteOptions, storeSuite } from 'postern/testing'
import { it } from 'vitest'

/** Waiting for leases to end is most of what the suite does on a real clock, so its cases wait together: each has keys of its own. */
export function itKeepsTheContract(
  makeStore: (options: { readonly retentionMs?: number }) => Store | Promise<Store>,
  options?: StoreSuiteOptions,
): void {
  const cases = storeSuite(makeStore, options)
  const beside = cases.filter(({ takesEngineAway }) => !takesEngineAway)
  let started: Map<string, Promise<unknown>> | undefined
  const startAll = () => new Map(beside.map(({ name, run }) => [name, run().then(() => undefined, asValue)]))
  for (const { name } of beside)
    it(name, async () => {
      started ??= startAll()
      const failure = await started.get(name)
      if (failure !== undefined) throw failure
    }, 60_000)
  for (const { name, takesEngineAway, run } of cases) if (takesEngineAway) it(name, run, 60_000)
}

/** A rejection that nobody has asked for yet would end the process. */
function asValue(error: unknown): unknown {
  return error ?? new Error('rejected with nothing')
}

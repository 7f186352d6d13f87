import fc from 'fast-check'
import type { Store } from 'postern'
import { Comparison, type Step } from '../../tools/testing/store-suite/store-model.ts'

/** Sequences of calls on two keys, including repeated and late ones. */
export const steps: fc.Arbitrary<readonly Step[]> = makeSteps()

/** Takes the steps on a store with a manual clock and on the model, and throws at the first answer that differs. */
export async function compareByHand(store: Store, pass: (ms: number) => void, taken: readonly Step[]): Promise<void> {
  const unitMs = 1_000
  const comparison = new Comparison({ storeOf: () => store, keys: ['key-a', 'key-b'], unitMs }, taken)
  for (const [index, step] of taken.entries()) {
    await comparison.take(index)
    if (step.call !== 'pass') continue
    pass(step.time * unitMs)
    comparison.pass(step.time)
  }
}

function makeSteps(): fc.Arbitrary<readonly Step[]> {
  const key = fc.constantFrom(0, 1)
  const lease = fc.constantFrom(2, 4, 8)
  // Mostly the last claimant; sometimes an earlier one, or none.
  const holder = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat({ max: 5 }) })
  const marks = fc.uniqueArray(fc.constantFrom('h1', 'h2', 'h3'), { maxLength: 3 })
  // Some leases end just when they are read: on a manual clock that is not a matter of luck.
  const time = fc.constantFrom(1, 3, 5)
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ call: fc.constant('claim' as const), key, lease }) },
    { weight: 4, arbitrary: fc.record({ call: fc.constant('renew' as const), key, holder, lease, marks }) },
    { weight: 1, arbitrary: fc.record({ call: fc.constant('complete' as const), key, holder }) },
    { weight: 3, arbitrary: fc.record({ call: fc.constant('release' as const), key, holder, marks }) },
    { weight: 5, arbitrary: fc.record({ call: fc.constant('pass' as const), time }) },
  )
  return fc.array(step, { maxLength: 40, size: 'max' })
}

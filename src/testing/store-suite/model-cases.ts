import { createHash } from 'node:crypto'
import { compareWithModel, type Step } from './store-model.ts'
import type { CaseDefinition } from './trial.ts'

const SEQUENCES = 4
const STEPS = 30
/** Units in a lease of a trial: the delay that a judged trial may have stays below half a unit. */
const UNITS_A_LEASE = 4

export const modelCases: readonly CaseDefinition[] = Array.from({ length: SEQUENCES }, (_, index) => ({
  name: `answers as the contract in its plainest form does: sequence ${index + 1} of ${SEQUENCES}`,
  run: (trial) =>
    compareWithModel(
      {
        storeOf: (step) => (step % 3 === 0 ? trial.another : trial.store),
        keys: [`${trial.key}:a`, `${trial.key}:b`],
        unitMs: trial.leaseMs / UNITS_A_LEASE,
        pass: (ms) => trial.passOnTime(ms / trial.leaseMs),
      },
      makeSteps(index),
    ),
}))

/** Makes a sequence of calls on two keys, including repeated and late ones. The same seed makes the same sequence. */
function makeSteps(seed: number): readonly Step[] {
  const choose = makeChoices(seed)
  const marks = () => ['h1', 'h2', 'h3'].filter(() => choose(true, false))
  // Usually the last holder; sometimes an earlier one, or none.
  const holder = () => choose(0, 0, 0, 1, 2, 5)
  return Array.from({ length: STEPS }, (): Step => {
    // Leases have half units and passages whole ones, so that no lease ends exactly at the time of a call.
    const [key, lease] = [choose(0, 0, 1), choose(1.5, 3.5, 7.5)]
    const call = choose<Step['call']>('claim', 'claim', 'claim', 'renew', 'renew', 'release', 'release', 'pass', 'pass')
    switch (call) {
      case 'claim':
        return { call, key, lease }
      case 'renew':
        return { call, key, holder: holder(), lease, marks: marks() }
      case 'release':
        // Completes rarely, since little can happen to a key that is done.
        return choose(true, true, false)
          ? { call, key, holder: holder(), marks: marks() }
          : { call: 'complete', key, holder: holder() }
      default:
        return { call: 'pass', time: choose(1, 3, 5) }
    }
  })
}

/** Creates a function that chooses one of its arguments, by the bytes of digests over the seed and a counter. */
function makeChoices(seed: number): <T>(...among: readonly [T, ...T[]]) => T {
  let count = 0
  return (...among) => {
    const digest = createHash('sha256').update(`${seed}:${count++}`).digest()
    return among[digest.readUInt32BE() % among.length] ?? among[0]
  }
}

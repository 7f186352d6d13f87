/** Runs one core's share of many seeds, and reports to the process that started this one. */
import { loadSubject } from './bundle.ts'
import { simulate } from './simulate.ts'
import { add, noTotals, type Totals } from './totals.ts'
import { drawIn, type WorldName } from './worlds.ts'

/** The seeds to run, and their world. */
export interface Batch {
  readonly world: WorldName
  readonly from: number
  readonly end: number
  readonly stride: number
  readonly fault: string | undefined
}

/** The results since the last message. */
export interface Told {
  readonly totals: Totals
  readonly failures: readonly { readonly seed: number; readonly violation: string }[]
}

const TELL_EVERY = 200

const { world, from, end, stride, fault } = JSON.parse(process.argv[2] ?? '') as Batch // batch.ts writes it
const subject = await loadSubject(fault)
let [totals, failures]: [Totals, { readonly seed: number; readonly violation: string }[]] = [noTotals(), []]
const tell = () => {
  process.send?.({ totals, failures } satisfies Told)
  totals = noTotals()
  failures = []
}
for (let seed = from; seed < end; seed += stride) {
  const { violations, figures } = await simulate(drawIn(world, seed), subject)
  const [violation] = violations
  if (violation !== undefined) failures.push({ seed, violation: `${violation.rule}: ${violation.message}` })
  add(totals, figures)
  if (totals.runs >= TELL_EVERY) tell()
}
tell()
process.disconnect()

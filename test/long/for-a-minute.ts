import fc from 'fast-check'
import { report } from './figures.ts'

const SECONDS = Number(process.env.LONG_SECONDS ?? 60)

/** Checks a property for a minute, prints the number of runs, and throws the smallest counterexample if there is one. */
export async function tryForAMinute<T>(name: string, property: fc.IRawProperty<T>): Promise<void> {
  const details = await fc.check(property, {
    numRuns: Number.MAX_SAFE_INTEGER,
    interruptAfterTimeLimit: SECONDS * 1_000,
  })
  const counterexamples = details.failed ? 1 : 0
  report({
    name: `property: ${name}`,
    measured: `${details.numRuns} runs in ${SECONDS} s, ${counterexamples} failed`,
    goal: '0 failed in a minute',
    isMet: counterexamples === 0,
  })
  if (details.failed) throw new Error(fc.defaultReportMessage(details))
}

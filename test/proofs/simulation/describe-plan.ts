import { inspect } from 'node:util'
import type { Plan } from './plan.ts'
import { showTime } from './trace.ts'

/** Returns a plan as text, one line for each of its parts, and for each element of its lists. */
export function describePlan({ inbox, ...plan }: Plan): readonly string[] {
  const { acts, ...worker } = { acts: [], ...inbox }
  const parts = Object.entries({ ...plan, ...(inbox && { inbox: worker, acts }) })
  return parts.flatMap(([name, part]) =>
    Array.isArray(part) ? part.map((each) => `${name}: ${show(each)}`) : [`${name}: ${show(part)}`],
  )
}

function show(part: unknown): string {
  const { at } = Object(part)
  const when = typeof at === 'number' ? `at ${showTime(at)} ` : ''
  return when + inspect(part, { depth: null, compact: true, breakLength: Number.POSITIVE_INFINITY })
}

import { findNearest } from '../../src/protocol/nearest.ts'
import { show } from '../../src/protocol/show.ts'

/** Returns words about the first name that differs by a slip from a known one; undefined if there is none. */
export function findMisspelt(names: readonly string[], known: readonly string[]): string | undefined {
  for (const name of names) {
    const meant = known.includes(name) ? undefined : findNearest(name, known, 1)
    if (meant !== undefined) return `field ${show(name)}; did you mean ${show(meant)}?`
  }
  return undefined
}

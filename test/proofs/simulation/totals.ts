import type { Figures } from './simulate.ts'

const COUNTED = ['runs', 'events', 'deliveries', 'handlerRuns', 'repeatedRuns', 'steps', 'simulatedMs'] as const

/** Figures of many runs. */
export interface Totals extends Record<(typeof COUNTED)[number], number> {
  readonly faults: Record<string, number>
  readonly states: Record<string, number>
}

export function noTotals(): Totals {
  const counts = Object.fromEntries(COUNTED.map((name) => [name, 0])) as Record<(typeof COUNTED)[number], number> // has each
  return { ...counts, faults: {}, states: {} }
}

/** Adds the figures of other runs. */
export function add(totals: Totals, more: Figures): void {
  for (const name of COUNTED) totals[name] += more[name]
  for (const part of ['faults', 'states'] as const)
    for (const [kind, times = 0] of Object.entries(more[part])) totals[part][kind] = (totals[part][kind] ?? 0) + times
}

/** Returns the figures as lines for the output. */
export function showTotals(totals: Totals, seconds: number, failed: number): readonly string[] {
  const rows = [
    ['runs', String(totals.runs)],
    ['events', String(totals.events)],
    ['deliveries', String(totals.deliveries)],
    ['handler runs', `${totals.handlerRuns}, ${totals.repeatedRuns} of them again, each explained by a fault`],
    ['faults', show(totals.faults)],
    ['rare states', show(totals.states)],
    ['steps', String(totals.steps)],
    ['simulated', `${Math.round(totals.simulatedMs / 3_600_000)} hours`],
    ['took', `${seconds.toFixed(1)} s`],
    ['failed', `${failed}${failed === 0 ? '' : '   HAS TO BE 0'}`],
  ]
  return rows.map(([what = '', value = '']) => `  ${what.padEnd(14)} ${value}`)
}

function show(counts: Readonly<Record<string, number>>): string {
  const sorted = Object.entries(counts).sort(([one], [other]) => (one < other ? -1 : 1))
  return sorted.map(([kind, times]) => `${kind} ${times}`).join(', ') || 'none'
}

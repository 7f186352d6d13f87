import type { ReplayedEvent, ReplayOutcome, ReplayProgress, ReplayResult } from '../../../src/client/client.ts'
import { showResult } from './print-delivery.ts'
import { toPrintable } from './print-table.ts'

const WORDS: Readonly<Record<ReplayOutcome, string>> = {
  planned: 'to retry',
  succeeded: 'succeeded',
  failed: 'failed again',
  unresolved: 'without a result in time',
  not_retriable: 'refused by the service',
  gone: 'gone',
}

export function countOutcomes(events: readonly ReplayedEvent[]): Readonly<Record<ReplayOutcome, number>> {
  const counts = { planned: 0, succeeded: 0, failed: 0, unresolved: 0, not_retriable: 0, gone: 0 }
  for (const { outcome } of events) counts[outcome]++
  return counts
}

/** Counts the last errors of events that were not delivered, the most frequent first. */
export function countErrors(events: readonly ReplayedEvent[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { outcome, delivery, after } of events) {
    if (outcome === 'succeeded') continue
    const error = showResult(after ?? delivery) ?? 'not told'
    counts.set(error, (counts.get(error) ?? 0) + 1)
  }
  // A map keeps the order. An object would sort statuses first.
  return new Map([...counts].sort(([, one], [, other]) => other - one))
}

/** @param due events that could be retried, if none was asked for */
export function formatSummary({ events, retried, resumed, skipped }: ReplayResult, due = 0): string {
  const counts = countOutcomes(events)
  const lines = [
    (Object.keys(WORDS) as ReplayOutcome[]) // the keys of that very table
      .filter((outcome) => counts[outcome] > 0)
      .map((outcome) => `${counts[outcome]} ${WORDS[outcome]}`)
      .join(', ') || (due > 0 ? `${due} to retry, none asked for (--limit 0)` : 'nothing to retry'),
    ...(resumed > 0 ? [`${resumed} retried by an earlier run, ${retried} by this one`] : []),
    ...(skipped.delivered > 0 ? [`${skipped.delivered} left out: delivered later`] : []),
    ...(skipped.pending > 0 ? [`${skipped.pending} left out: being delivered`] : []),
    ...[...countErrors(events)].map(([error, count]) => `  ${count} x ${toPrintable(error)}`),
  ]
  return lines.join('\n')
}

export function formatBreak(progress: ReplayProgress | undefined): string {
  if (progress === undefined) return 'nothing was retried yet'
  const { total, retried, resumed, succeeded, failed } = progress
  const earlier = resumed === 0 ? '' : `, ${resumed} by an earlier run`
  return `${retried} of ${total} retried${earlier}: ${succeeded} succeeded, ${failed} failed again as far as is known`
}

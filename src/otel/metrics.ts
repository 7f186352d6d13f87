import type { Attributes, Meter } from '@opentelemetry/api'
import type { Outcome, Settlement, TakenItem } from '../engine.ts'
import { ATTRIBUTES, COUNTERS, HISTOGRAMS, makeAll, toOperation } from './names.ts'

/** Path on which an outcome occurred. */
export type Path = 'deliveries' | 'dispatches' | 'tries' | 'lateEnds'

/** Value of `postern.event.type` for types that no pattern names: a sender could invent any number of them. */
const OTHER = 'other'

/** Counters and histograms of one receiver. */
export type Metrics = ReturnType<typeof createMetrics>

/**
 * Creates the counters and histograms of one receiver. No attribute has values that a sender chooses.
 *
 * @param isKnown returns true if a handler is registered for a type by its name
 */
export function createMetrics(meter: Meter, receiver: string, isKnown: (type: string) => boolean) {
  const own = { [ATTRIBUTES.destination]: receiver }
  const counters = makeAll(COUNTERS, ([name, unit, description]) => meter.createCounter(name, { unit, description }))
  const times = makeAll(HISTOGRAMS, ([name, buckets, description]) =>
    meter.createHistogram(name, { unit: 's', description, advice: { explicitBucketBoundaries: [...buckets] } }),
  )
  const count = (name: keyof typeof COUNTERS, by: number, attributes?: Attributes) =>
    counters[name].add(by, { ...own, ...attributes })
  // Starts at zero: a counter that first appears with one shows no increase.
  for (const name of ['stalls', 'suspects', 'revivals'] as const) count(name, 0)
  return {
    ended(path: Path, outcome: Outcome): void {
      const { type } = outcome
      count(path, 1, {
        [ATTRIBUTES.outcome]: outcome.outcome,
        ...('code' in outcome && { [ATTRIBUTES.code]: outcome.code }),
        ...(type !== undefined && { [ATTRIBUTES.eventType]: isKnown(type) ? type : OTHER }),
      })
    },
    answered(outcome: Outcome, durationMs: number): void {
      times.answerTime.record(durationMs / 1_000, { ...own, [ATTRIBUTES.outcome]: outcome.outcome })
    },
    handled(handler: string, durationMs: number, errorType: string | undefined): void {
      times.handlerTime.record(durationMs / 1_000, {
        ...toOperation(receiver, 'process'),
        [ATTRIBUTES.handler]: handler,
        ...(errorType !== undefined && { [ATTRIBUTES.errorType]: errorType }),
      })
    },
    put(outcome: Outcome, durationMs: number): void {
      times.putTime.record(durationMs / 1_000, {
        ...toOperation(receiver, 'send'),
        ...(outcome.outcome !== 'accepted' && { [ATTRIBUTES.errorType]: codeOf(outcome) }),
      })
    },
    taken({ dueAt, since, tries, failures, isSuspect }: TakenItem): void {
      times.inboxTime.record(Math.max(Date.now() - dueAt, 0) / 1_000, own)
      if (isSuspect) count('suspects', 1)
      // Only a dead letter is put or replayed again after a try.
      const last = tries.at(-1)
      if (last !== undefined && failures === 0 && since >= last.endedAt) count('revivals', 1)
    },
    settled(settlement: Settlement): void {
      if (settlement.next === 'bury') count('deadLetters', 1, { [ATTRIBUTES.code]: settlement.tried.code })
    },
    stalled: () => count('stalls', 1),
  }
}

/** Returns the code or the name of an outcome: one of a few dozen values. */
export function codeOf(outcome: Outcome): string {
  return 'code' in outcome ? outcome.code : outcome.outcome
}

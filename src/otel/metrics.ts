import type { Attributes, Counter, Histogram, Meter } from '@opentelemetry/api'
import type { Outcome, Settlement, TakenItem } from '../engine.ts'
import { ATTRIBUTES, COUNTERS, HISTOGRAMS, makeAll, toOperation } from './names.ts'

/** Path on which an outcome occurred. */
export type Path = 'deliveries' | 'dispatches' | 'tries' | 'lateEnds'

/** Value of `postern.event.type` for types that no pattern names: a sender could invent any number of them. */
const OTHER = 'other'

/** Counters and histograms of one receiver. No attribute has values that a sender chooses. */
export class Metrics {
  readonly #receiver: string
  readonly #of: Attributes
  readonly #isKnown: (type: string) => boolean
  readonly #counters: Readonly<Record<keyof typeof COUNTERS, Counter>>
  readonly #times: Readonly<Record<keyof typeof HISTOGRAMS, Histogram>>

  /** @param isKnown returns true if a handler is registered for a type by its name */
  constructor(meter: Meter, receiver: string, isKnown: (type: string) => boolean) {
    this.#receiver = receiver
    this.#of = { [ATTRIBUTES.destination]: receiver }
    this.#isKnown = isKnown
    this.#counters = makeAll(COUNTERS, ([name, unit, description]) => meter.createCounter(name, { unit, description }))
    this.#times = makeAll(HISTOGRAMS, ([name, buckets, description]) =>
      meter.createHistogram(name, { unit: 's', description, advice: { explicitBucketBoundaries: [...buckets] } }),
    )
    // Starts at zero: a counter that first appears with one shows no increase.
    for (const name of ['stalls', 'suspects', 'revivals'] as const) this.#counters[name].add(0, this.#of)
  }

  ended(path: Path, outcome: Outcome): void {
    const { type } = outcome
    this.#counters[path].add(1, {
      ...this.#of,
      [ATTRIBUTES.outcome]: outcome.outcome,
      ...('code' in outcome && { [ATTRIBUTES.code]: outcome.code }),
      ...(type !== undefined && { [ATTRIBUTES.eventType]: this.#isKnown(type) ? type : OTHER }),
    })
  }

  answered(outcome: Outcome, durationMs: number): void {
    this.#times.answerTime.record(durationMs / 1_000, { ...this.#of, [ATTRIBUTES.outcome]: outcome.outcome })
  }

  handled(handler: string, durationMs: number, errorType: string | undefined): void {
    this.#times.handlerTime.record(durationMs / 1_000, {
      ...toOperation(this.#receiver, 'process'),
      [ATTRIBUTES.handler]: handler,
      ...(errorType !== undefined && { [ATTRIBUTES.errorType]: errorType }),
    })
  }

  put(outcome: Outcome, durationMs: number): void {
    this.#times.putTime.record(durationMs / 1_000, {
      ...toOperation(this.#receiver, 'send'),
      ...(outcome.outcome !== 'accepted' && { [ATTRIBUTES.errorType]: codeOf(outcome) }),
    })
  }

  taken({ dueAt, since, tries, failures, isSuspect }: TakenItem): void {
    this.#times.inboxTime.record(Math.max(Date.now() - dueAt, 0) / 1_000, this.#of)
    if (isSuspect) this.#counters.suspects.add(1, this.#of)
    // Only a dead letter is put or replayed again after a try.
    const last = tries.at(-1)
    if (last !== undefined && failures === 0 && since >= last.endedAt) this.#counters.revivals.add(1, this.#of)
  }

  settled(settlement: Settlement): void {
    if (settlement.next === 'bury')
      this.#counters.deadLetters.add(1, { ...this.#of, [ATTRIBUTES.code]: settlement.tried.code })
  }

  stalled(): void {
    this.#counters.stalls.add(1, this.#of)
  }
}

/** Returns the code or the name of an outcome: one of a few dozen values. */
export function codeOf(outcome: Outcome): string {
  return 'code' in outcome ? outcome.code : outcome.outcome
}

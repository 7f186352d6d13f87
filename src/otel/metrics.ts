import type { Attributes, Counter, Histogram, Meter } from '@opentelemetry/api'
import type { Outcome, Settlement, TakenItem } from '../index.ts'
import { ATTRIBUTES, METRICS, toOperation, WAIT_BUCKETS, WORK_BUCKETS } from './names.ts'

/** Path on which an outcome occurred. */
export type Path = 'deliveries' | 'dispatches' | 'tries' | 'lateEnds'

/** Value of `postern.event.type` for types that no pattern names: a sender could invent any number of them. */
const OTHER = 'other'

/** Counters and histograms of one receiver. No attribute has values that a sender chooses. */
export class Metrics {
  readonly #receiver: string
  readonly #of: Attributes
  readonly #isKnown: (type: string) => boolean
  readonly #outcomes: Readonly<Record<Path, Counter>>
  readonly #deadLetters: Counter
  readonly #stalls: Counter
  readonly #suspects: Counter
  readonly #revivals: Counter
  readonly #answerTime: Histogram
  readonly #handlerTime: Histogram
  readonly #putTime: Histogram
  readonly #inboxTime: Histogram

  /** @param isKnown returns true if a handler is registered for a type by its name */
  constructor(meter: Meter, receiver: string, isKnown: (type: string) => boolean) {
    const count = (name: string, unit: string, description: string) => meter.createCounter(name, { unit, description })
    const time = (name: string, explicitBucketBoundaries: number[], description: string) =>
      meter.createHistogram(name, { unit: 's', description, advice: { explicitBucketBoundaries } })
    this.#receiver = receiver
    this.#of = { [ATTRIBUTES.destination]: receiver }
    this.#isKnown = isKnown
    this.#outcomes = {
      deliveries: count(METRICS.deliveries, '{delivery}', 'Deliveries by the outcome they were answered with'),
      dispatches: count(METRICS.dispatches, '{event}', 'Events given to dispatch(), by outcome'),
      lateEnds: count(METRICS.lateEnds, '{delivery}', 'Deliveries answered late, by the outcome they came to'),
      tries: count(METRICS.tries, '{try}', 'Tries of workers by outcome'),
    }
    this.#deadLetters = count(METRICS.deadLetters, '{event}', 'Events that became dead letters, by why')
    this.#stalls = count(METRICS.stalls, '{event}', 'Events that another worker took while they ran here')
    this.#suspects = count(METRICS.suspects, '{try}', 'Tries of events that ran alone since their worker died')
    this.#revivals = count(METRICS.revivals, '{event}', 'Dead letters that were tried again')
    this.#answerTime = time(METRICS.answerTime, WORK_BUCKETS, 'From the first sight of a delivery to its answer')
    this.#handlerTime = time(METRICS.handlerTime, WORK_BUCKETS, 'Of each run of a handler')
    this.#putTime = time(METRICS.putTime, WORK_BUCKETS, 'Of putting an event into the inbox')
    // Starts at zero: a counter that first appears with one shows no increase.
    for (const counter of [this.#stalls, this.#suspects, this.#revivals]) counter.add(0, this.#of)
    this.#inboxTime = time(METRICS.inboxTime, WAIT_BUCKETS, 'From when an event was due to its try')
  }

  ended(path: Path, outcome: Outcome): void {
    const { type } = outcome
    this.#outcomes[path].add(1, {
      ...this.#of,
      [ATTRIBUTES.outcome]: outcome.outcome,
      ...('code' in outcome && { [ATTRIBUTES.code]: outcome.code }),
      ...(type !== undefined && { [ATTRIBUTES.eventType]: this.#isKnown(type) ? type : OTHER }),
    })
  }

  answered(outcome: Outcome, durationMs: number): void {
    this.#answerTime.record(durationMs / 1_000, { ...this.#of, [ATTRIBUTES.outcome]: outcome.outcome })
  }

  handled(handler: string, durationMs: number, errorType: string | undefined): void {
    this.#handlerTime.record(durationMs / 1_000, {
      ...toOperation(this.#receiver, 'process'),
      [ATTRIBUTES.handler]: handler,
      ...(errorType !== undefined && { [ATTRIBUTES.errorType]: errorType }),
    })
  }

  put(outcome: Outcome, durationMs: number): void {
    this.#putTime.record(durationMs / 1_000, {
      ...toOperation(this.#receiver, 'send'),
      ...(outcome.outcome !== 'accepted' && { [ATTRIBUTES.errorType]: codeOf(outcome) }),
    })
  }

  taken({ dueAt, since, tries, failures, isSuspect }: TakenItem): void {
    this.#inboxTime.record(Math.max(Date.now() - dueAt, 0) / 1_000, this.#of)
    if (isSuspect) this.#suspects.add(1, this.#of)
    // Only a dead letter is put or replayed again after a try.
    const last = tries.at(-1)
    if (last !== undefined && failures === 0 && since >= last.endedAt) this.#revivals.add(1, this.#of)
  }

  settled(settlement: Settlement): void {
    if (settlement.next === 'bury') this.#deadLetters.add(1, { ...this.#of, [ATTRIBUTES.code]: settlement.tried.code })
  }

  stalled(): void {
    this.#stalls.add(1, this.#of)
  }
}

/** Returns the code or the name of an outcome: one of a few dozen values. */
export function codeOf(outcome: Outcome): string {
  return 'code' in outcome ? outcome.code : outcome.outcome
}

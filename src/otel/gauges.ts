import type { Attributes, BatchObservableResult, Meter, ObservableResult } from '@opentelemetry/api'
import { type Clock, type InboxCounts, type ReceiverView, systemClock } from '../index.ts'
import { ATTRIBUTES, METRICS } from './names.ts'

/** Minimum time between two queries of the inbox, in milliseconds, however often metrics are collected. */
const QUERY_EVERY_MS = 30_000
/** Maximum time for which a collection waits for a query, in milliseconds. */
const QUERY_LIMIT_MS = 3_000

/** Registers gauges of running work and of the inbox, which is queried when metrics are collected, so that no timer runs. Returns what removes them. */
export function observeGauges(meter: Meter, view: ReceiverView, clock: Clock = systemClock): () => void {
  const attributes: Attributes = { [ATTRIBUTES.destination]: view.name }
  const gauge = (name: string, unit: string, description: string) =>
    meter.createObservableGauge(name, { unit, description })
  const inFlight = meter.createObservableUpDownCounter(METRICS.inFlight, {
    unit: '{event}',
    description: 'Events whose handlers run in this process',
  })
  const tellInFlight = (result: ObservableResult) => result.observe(view.inFlight, attributes)
  inFlight.addCallback(tellInFlight)
  const stopInFlight = () => inFlight.removeCallback(tellInFlight)
  if (view.inbox === undefined) return stopInFlight

  const of = 'of the inbox, in any process; 10,000 stands for as many or more'
  const waiting = gauge(METRICS.waiting, '{event}', `Events that wait, ${of}`)
  const running = gauge(METRICS.running, '{event}', `Events that run, ${of}`)
  const dead = gauge(METRICS.dead, '{event}', `Dead letters ${of}`)
  const oldestAge = gauge(METRICS.oldestAge, 's', 'How long the oldest event of the inbox could have run')
  const failures = meter.createCounter(METRICS.queryFailures, {
    unit: '{query}',
    description: 'Collections in which the inbox did not answer',
  })
  failures.add(0, attributes)
  const snapshots = new Snapshots(() => view.inbox?.counts(), clock)
  const tellInbox = async (result: BatchObservableResult) => {
    const snapshot = await snapshots.read()
    if (snapshot === undefined) return failures.add(1, attributes) // the SDK repeats the previous numbers
    result.observe(waiting, snapshot.waiting, attributes)
    result.observe(running, snapshot.running, attributes)
    result.observe(dead, snapshot.dead, attributes)
    result.observe(oldestAge, snapshot.oldestAgeMs / 1_000, attributes)
  }
  const gauges = [waiting, running, dead, oldestAge]
  meter.addBatchObservableCallback(tellInbox, gauges)
  return () => {
    stopInFlight()
    meter.removeBatchObservableCallback(tellInbox, gauges)
  }
}

interface Snapshot extends InboxCounts {
  readonly oldestAgeMs: number
}

/** Cache of the last counts of the inbox. */
class Snapshots {
  readonly #count: () => Promise<InboxCounts> | undefined
  readonly #clock: Clock
  #askedAt = Number.NEGATIVE_INFINITY
  #asked: Promise<Snapshot | undefined> | undefined
  #isAsking = false

  constructor(count: () => Promise<InboxCounts> | undefined, clock: Clock) {
    this.#count = count
    this.#clock = clock
  }

  /** Resolves with undefined if the inbox failed or did not answer in time. Never rejects. */
  read(): Promise<Snapshot | undefined> {
    const now = this.#clock.monotonic()
    if (this.#asked === undefined || (!this.#isAsking && now - this.#askedAt >= QUERY_EVERY_MS)) {
      this.#askedAt = now
      this.#asked = this.#ask()
    }
    return withinLimit(this.#asked)
  }

  async #ask(): Promise<Snapshot | undefined> {
    this.#isAsking = true
    try {
      const counts = await this.#count()
      if (counts === undefined) return undefined
      const { oldestDueAt } = counts
      const oldestAgeMs = oldestDueAt === undefined ? 0 : Math.max(this.#clock.now() - oldestDueAt, 0)
      return { ...counts, oldestAgeMs }
    } catch {
      return undefined
    } finally {
      this.#isAsking = false
    }
  }
}

async function withinLimit<T>(asked: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const timeUp = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, QUERY_LIMIT_MS, undefined)
    timer.unref?.()
  })
  const answer = await Promise.race([asked, timeUp])
  clearTimeout(timer)
  return answer
}

import type { Attributes, BatchObservableResult, Meter, ObservableResult } from '@opentelemetry/api'
import { type Clock, type Inbox, type ReceiverView, systemClock, waitFor } from '../engine.ts'
import { ATTRIBUTES, GAUGES, IN_FLIGHT, makeAll, QUERY_FAILURES } from './names.ts'

/** Minimum time between two queries of the inbox, in milliseconds, however often metrics are collected. */
const QUERY_EVERY_MS = 30_000
/** Maximum time for which a collection waits for a query, in milliseconds. */
const QUERY_LIMIT_MS = 3_000

/** Registers gauges of running work and of the inbox, which is queried when metrics are collected, so that no timer runs. Returns what removes them. */
export function observeGauges(meter: Meter, view: ReceiverView, clock: Clock = systemClock): () => void {
  const attributes: Attributes = { [ATTRIBUTES.destination]: view.name }
  const description = 'Events whose handlers run in this process'
  const inFlight = meter.createObservableUpDownCounter(IN_FLIGHT, { unit: '{event}', description })
  const tellInFlight = (result: ObservableResult) => result.observe(view.inFlight, attributes)
  inFlight.addCallback(tellInFlight)
  const stopInFlight = () => inFlight.removeCallback(tellInFlight)
  if (view.inbox === undefined) return stopInFlight

  const gauges = makeAll(GAUGES, ([name, unit, description]) =>
    meter.createObservableGauge(name, { unit, description }),
  )
  const failures = meter.createCounter(QUERY_FAILURES, {
    unit: '{query}',
    description: 'Collections in which the inbox did not answer',
  })
  failures.add(0, attributes)
  const readCounts = cacheCounts(view.inbox, clock)
  const tellInbox = async (result: BatchObservableResult) => {
    const snapshot = await readCounts()
    if (snapshot === undefined) return failures.add(1, attributes) // the SDK repeats the previous numbers
    for (const name of Object.keys(gauges) as (keyof typeof GAUGES)[])
      result.observe(gauges[name], snapshot[name] ?? 0, attributes)
  }
  const observed = Object.values(gauges)
  meter.addBatchObservableCallback(tellInbox, observed)
  return () => {
    stopInFlight()
    meter.removeBatchObservableCallback(tellInbox, observed)
  }
}

/** Returns a function that reads the counts of the inbox, or those of a short while ago: undefined if it failed or did not answer in time. */
function cacheCounts(inbox: Pick<Inbox, 'counts'>, clock: Clock) {
  let askedAt = Number.NEGATIVE_INFINITY
  let asked: ReturnType<typeof ask> | undefined
  let isAsking = false
  const ask = async () => {
    isAsking = true
    try {
      const counts = await inbox.counts()
      const now = clock.now()
      const oldest = Math.min(counts.oldestDueAt ?? now, counts.oldestParkedAt ?? now)
      return { ...counts, oldestAge: (now - oldest) / 1_000 }
    } finally {
      isAsking = false
    }
  }
  return () => {
    const now = clock.monotonic()
    if (asked === undefined || (!isAsking && now - askedAt >= QUERY_EVERY_MS)) {
      askedAt = now
      asked = ask()
    }
    return waitFor(
      systemClock,
      asked,
      QUERY_LIMIT_MS,
      (snapshot) => snapshot,
      () => undefined,
    )
  }
}

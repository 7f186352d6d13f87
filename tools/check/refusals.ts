import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer, Maker, TestDelivery } from './case.ts'
import { isSuccess, isUnjudged } from './verdict.ts'

/** So many refused genuine deliveries in a row, or forgeries, raise the question if the receiver still accepts a plain one. */
const [REFUSED_IN_A_ROW, FORGED_IN_A_ROW] = [6, 24]
/** Part of the patience in which the receiver has to accept a plain delivery again, and the time between two of them. */
const [REOPENING, REOPENING_STEP_MS] = [1 / 3, 500]
/** Least time for it: deliveries that are under way at first may be why it refuses others. */
const LEAST_REOPENING_MS = 1_000

/** Refusals of plain deliveries by a receiver that accepted some before. */
export interface Refusals {
  /** One of them. */
  by: Answer | undefined
  /** Number of forgeries that came before the first of them. */
  after: number
  /** True if the receiver has not accepted one for a long time. */
  areForGood: boolean
}

/** Watches whether a receiver that accepted plain deliveries still does. */
export function watchRefusals(
  { patienceMs, signal }: { readonly patienceMs: number; readonly signal: AbortSignal | undefined },
  make: Maker,
  deliver: (delivery: TestDelivery) => Promise<Answer>,
) {
  const refusals: Refusals = { by: undefined, after: 0, areForGood: false }
  let isOpen = false
  /** Forgeries, and refused genuine deliveries of plain events, since the last one of these that was accepted. */
  let [forged, refused] = [0, 0]
  /** Result of asking a receiver that has refused many deliveries if it accepts a plain one. */
  let reopening: Promise<void> | undefined
  const reopen = async (): Promise<void> => {
    const end = performance.now() + Math.max(patienceMs * REOPENING, LEAST_REOPENING_MS)
    const before = forged
    while (!refusals.areForGood) {
      const answer = await deliver(make.delivery(make.event()))
      // The end of a receiver, and one that hangs or limits requests, are seen elsewhere.
      if (isSuccess(answer) || isUnjudged(answer)) return
      refusals.by = answer
      refusals.after ||= before
      refusals.areForGood = performance.now() >= end
      const stepMs = Math.min(REOPENING_STEP_MS, patienceMs / 10)
      await sleep(stepMs, undefined, signal && { signal: AbortSignal.any([signal]) })
    }
  }
  return {
    refusals,
    /** Returns true if the receiver accepted plain deliveries, and refuses all of them by now. Asks it if it has refused many. */
    async isShut(): Promise<boolean> {
      const isSuspect = refused >= REFUSED_IN_A_ROW || forged >= FORGED_IN_A_ROW
      if (!isOpen || refusals.areForGood || !isSuspect) return refusals.areForGood
      reopening ??= reopen().finally(() => {
        reopening = undefined
      })
      await reopening
      return refusals.areForGood
    },
    /** Counts an answer. */
    note({ event, isSigned }: TestDelivery, answer: Answer): void {
      const isPlain = event?.type === make.plainType && event.accountKey === make.accountKey
      if (isPlain && isSuccess(answer)) {
        isOpen = true
        forged = 0
        refused = 0
      } else if (isPlain && !isUnjudged(answer)) refused++
      else if (!isSigned) forged++
    },
  }
}

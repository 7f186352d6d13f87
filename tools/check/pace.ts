import { SERVICE_DEADLINE_MS } from '../../src/protocol/schedule.ts'
import type { TestDelivery } from './case.ts'
import { holdBack } from './cases/send-at-once.ts'
import { createTurns } from './turns.ts'

/** Part of the time limit in which a receiver has to answer all deliveries that are under way at the same time. */
const SHARE = 0.6
/** Number of the latest events by which the speed of a receiver is measured. */
const SAMPLES = 16
/** Least number of deliveries that are under way at the same time. */
const LEAST = 2

/**
 * Measures the time between two answers to new events, and lets only as many deliveries begin as the receiver answers within the time limit:
 * a slow one that works on one event after the other must not be flooded.
 */
export function createPace(timeoutMs: number) {
  const limitMs = Math.min(timeoutMs, SERVICE_DEADLINE_MS) * SHARE
  const samples: number[] = []
  let [underWay, since] = [0, 0]
  const countRoom = (): number => {
    const sum = samples.reduce((before, ms) => before + ms, 0)
    return Math.max(LEAST, Math.floor((limitMs * samples.length) / sum || Infinity))
  }
  const takePlace = createTurns(countRoom)
  return {
    /** Returns the number of deliveries that the receiver answers in time if they come concurrently. */
    countRoom,
    /** Sends a delivery once there is a place. A sender that pauses on purpose takes none from others. */
    async inPlace<T>({ toParts }: TestDelivery, send: () => Promise<T>): Promise<T> {
      if (toParts !== undefined && toParts !== holdBack) return send()
      const leave = await takePlace()
      return send().finally(leave)
    },
    /** Begins to measure an event. Call what it returns when the event is answered, and say whether it was acknowledged. */
    measure(): (isAcknowledged: boolean) => void {
      if (underWay++ === 0) since = performance.now()
      return (isAcknowledged) => {
        underWay--
        const now = performance.now()
        if (isAcknowledged) samples.push(now - since)
        if (samples.length > SAMPLES) samples.shift()
        since = now
      }
    },
  }
}

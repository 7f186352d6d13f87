import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer, Scene, TestDelivery } from '../case.ts'
import { isPutOff, readRetryAfterMs } from '../verdict.ts'

/** Number of times that a check sends one event concurrently. */
export const COPIES = 8

/** Time before the last byte of deliveries that must arrive at the same moment. */
const HOLD_MS = 100
/** Time for a receiver to begin to read. */
export const CUT_MS = 50

/** Parts of a delivery whose last byte waits for those of others. */
export async function* holdBack(body: Uint8Array): AsyncGenerator<Uint8Array> {
  yield body.subarray(0, -1)
  await sleep(HOLD_MS)
  yield body.subarray(-1)
}

/** Makes the parts of a delivery whose second half waits. */
export const inHalves = (pause: () => Promise<unknown>) =>
  async function* (body: Uint8Array): AsyncGenerator<Uint8Array> {
    const half = Math.ceil(body.length / 2)
    yield body.subarray(0, half)
    await pause()
    yield body.subarray(half)
  }

/** Makes the parts of a delivery whose connection is cut: this time after the last byte, or before it. */
export const cutAt = (cutMs: number | undefined) =>
  async function* (body: Uint8Array): AsyncGenerator<Uint8Array> {
    yield cutMs === undefined ? body.subarray(0, -1) : body
    await sleep(cutMs ?? CUT_MS)
    throw new Error('cut on purpose')
  }

/** Sends deliveries concurrently, and again if all of them were put off: earlier checks may have used up a rate limit. */
export async function sendAtOnce(
  { sendOnce, wait, patienceMs }: Scene,
  deliveries: readonly TestDelivery[],
): Promise<readonly Answer[]> {
  const answers = await Promise.all(deliveries.map(sendOnce))
  const waitMs = Math.max(...answers.map((answer) => readRetryAfterMs(answer) ?? Infinity))
  if (!answers.every(isPutOff) || waitMs > patienceMs) return answers
  await wait(waitMs)
  return Promise.all(deliveries.map(sendOnce))
}

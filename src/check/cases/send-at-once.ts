import type { Scene } from '../case.ts'
import type { Answer, Delivery } from '../exchange.ts'
import { isPutOff, readRetryAfterMs } from '../verdict.ts'

/** Sends deliveries concurrently, and again if all of them were put off: earlier checks may have used up a rate limit. */
export async function sendAtOnce(
  { sendOnce, wait, patienceMs }: Scene,
  deliveries: readonly Delivery[],
): Promise<readonly Answer[]> {
  const answers = await Promise.all(deliveries.map(sendOnce))
  const waitMs = Math.max(...answers.map((answer) => readRetryAfterMs(answer) ?? Infinity))
  if (!answers.every(isPutOff) || waitMs > patienceMs) return answers
  await wait(waitMs)
  return Promise.all(deliveries.map(sendOnce))
}

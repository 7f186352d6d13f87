import { setTimeout as sleep } from 'node:timers/promises'
import type { Secret } from '../protocol/signature.ts'
import type { Scene } from './case.ts'
import type { Answer, Delivery } from './exchange.ts'
import { createMaker } from './maker.ts'
import type { Probe } from './probe.ts'
import { send } from './send.ts'
import { isPutOff, readRetryAfterMs } from './verdict.ts'

export interface SceneOptions {
  readonly target: URL
  readonly secret: Secret
  readonly accountKey: string
  readonly timeoutMs: number
  readonly patienceMs: number
  readonly probe: Probe | undefined
  readonly signal: AbortSignal | undefined
}

/** What a run sends by, and whether anything has answered yet. */
export interface RunScene extends Scene {
  /** Nothing listens there, and nothing ever has in this run. */
  isLost(): boolean
}

export function createScene({
  target,
  secret,
  accountKey,
  timeoutMs,
  patienceMs,
  probe,
  signal,
}: SceneOptions): RunScene {
  let answers = 0
  let isUnreachable = false
  /** What is left of it for all deliveries, once one was put off until the end of it. */
  let patience = patienceMs
  const sendOnce = async (delivery: Delivery): Promise<Answer> => {
    const answer = await send(target, delivery, timeoutMs)
    if (answer.status !== undefined) answers++
    isUnreachable = answer.isUnreachable
    return answer
  }
  return {
    make: createMaker({ secret, accountKey }),
    target,
    secret: typeof secret === 'string' ? Buffer.from(secret) : secret,
    patienceMs,
    probe,
    sendOnce,
    send: async (delivery) => {
      const end = performance.now() + patience
      for (;;) {
        const answer = await sendOnce(delivery)
        if (!isPutOff(answer)) return answer
        const waitMs = Math.max(readRetryAfterMs(answer) ?? 0, 50)
        if (performance.now() + waitMs > end) {
          patience = 0
          return answer
        }
        await sleep(waitMs, undefined, { signal }).catch(() => {})
        if (signal?.aborted === true) return answer
      }
    },
    isLost: () => answers === 0 && isUnreachable,
  }
}

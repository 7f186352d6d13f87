import { sign } from 'postern'
import { ATTEMPT_DELAYS_MS, SERVICE_DEADLINE_MS } from '../../../src/protocol/schedule.ts'

export const SECRET = 'whsec_chaos'

export interface SenderOptions {
  /** Returns the port for the next attempt; undefined while no worker listens. */
  readonly pickPort: () => number | undefined
  /** The delays between attempts are divided by this. The deadline of an attempt is not. */
  readonly retryScale: number
  /** Returns whether no delivery can be acknowledged right now. */
  readonly isLocked?: (() => boolean) | undefined
}

/** The service's deliveries: five attempts on its schedule, then manual retries until one succeeds. */
export class ScheduleSender {
  readonly statuses = new Map<number | 'no answer', number>()
  attempts = 0
  manualRetries = 0
  /** Deliveries that were acknowledged while the engine could not write. */
  acknowledgedWhileLocked = 0
  readonly #options: SenderOptions

  constructor(options: SenderOptions) {
    this.#options = options
  }

  /** Returns whether the delivery was acknowledged in the end. */
  async deliver(body: string): Promise<boolean> {
    const bytes = Buffer.from(body)
    const signature = sign(bytes, SECRET)
    for (let round = 0; round < 5; round++) {
      if (round > 0) this.manualRetries++
      for (const delayMs of ATTEMPT_DELAYS_MS) {
        await sleep(delayMs / this.#options.retryScale)
        const wasLocked = this.#options.isLocked?.() === true
        const status = await this.#attempt(bytes, signature)
        this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1)
        if (!isSuccess(status)) continue
        if (wasLocked && this.#options.isLocked?.() === true) this.acknowledgedWhileLocked++
        return true
      }
    }
    return false
  }

  /** Returns whether one attempt is acknowledged. */
  async isAcknowledged(body: string): Promise<boolean> {
    const bytes = Buffer.from(body)
    return isSuccess(await this.#attempt(bytes, sign(bytes, SECRET)))
  }

  async #attempt(body: Uint8Array, signature: string): Promise<number | 'no answer'> {
    this.attempts++
    const port = this.#options.pickPort()
    if (port === undefined) return 'no answer'
    const headers = { 'content-type': 'application/json', 'x-service-signature': signature }
    const signal = AbortSignal.timeout(SERVICE_DEADLINE_MS)
    try {
      const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body, signal })
      await response.arrayBuffer()
      return response.status
    } catch {
      return 'no answer'
    }
  }
}

function isSuccess(status: number | 'no answer'): boolean {
  return status !== 'no answer' && status >= 200 && status < 300
}

function sleep(ms: number): Promise<void> | undefined {
  return ms === 0 ? undefined : new Promise((resolve) => setTimeout(resolve, ms))
}

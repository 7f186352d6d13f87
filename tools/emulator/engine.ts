import { setMaxListeners } from 'node:events'
import { LONGEST_TIMER_MS, sleep } from '../../src/host/clock.ts'
import { ATTEMPT_DELAYS_MS, MAX_ATTEMPTS } from '../../src/protocol/schedule.ts'
import type { Core } from './core.ts'
import type { DeliveryAttempt, StoredDelivery } from './delivery.ts'
import type { DeliveryChange, DeliveryLog } from './delivery-log.ts'
import { createDueQueue } from './due-queue.ts'
import type { Faults } from './faults.ts'
import { missAttempt } from './make-attempt.ts'
import type { Webhook, Webhooks } from './webhooks.ts'

export interface EngineParts extends Omit<Core, 'ids' | 'journal'> {
  readonly log: DeliveryLog
  readonly webhooks: Webhooks
  readonly faults: Faults
  readonly attempt: (delivery: StoredDelivery, webhook: Webhook, signal: AbortSignal) => Promise<DeliveryAttempt>
  readonly retryScale: number
  readonly maxInFlight: number
  readonly maxInFlightPerWebhook: number
}

/** Planned attempt. It is valid only while the delivery has the same ticket. */
interface Plan {
  readonly delivery: StoredDelivery
  readonly ticket: number
}

interface Lane {
  readonly webhookId: string
  readonly due: Set<StoredDelivery>
  inFlight: number
}

/** Number of due deliveries that are shuffled together. */
const SHUFFLED = 16

/** Makes attempts when they are due. Service text, sections 3.2 and 8. */
export class Engine {
  readonly #parts: EngineParts
  readonly #waiting = createDueQueue<Plan>()
  readonly #lanes = new Map<string, Lane>()
  readonly #closing = new AbortController()
  readonly #underWay = new Set<Promise<void>>()
  #timer: { readonly at: number; readonly handle: unknown } | undefined

  constructor(parts: EngineParts) {
    this.#parts = parts
    setMaxListeners(0, this.#closing.signal) // each attempt in progress adds a listener
  }

  get inFlight(): number {
    return this.#underWay.size
  }

  /** Due time of the next attempt in milliseconds since 1970. Attempts of paused webhooks have none. */
  get nextDueAt(): number | undefined {
    const { webhooks, assumed } = this.#parts
    // A delivery that a pause holds waits until the webhook is resumed.
    const isHeld = ({ webhookId }: StoredDelivery) =>
      assumed.retriesWhilePaused === 'held' && webhooks.find(webhookId)?.active !== true
    const isToCome = (plan: Plan) => this.#isPlanned(plan) && !isHeld(plan.delivery)
    return this.#waiting.nextAtOf(isToCome)
  }

  /** Resumes the deliveries that were pending when the last process ended. */
  start(): void {
    this.schedule(this.#parts.log.list().filter(({ status }) => status === 'pending'))
  }

  /** Plans the next attempt of each delivery at its `nextAttemptAt`. */
  schedule(deliveries: readonly StoredDelivery[]): void {
    for (const delivery of deliveries) {
      delivery.ticket++
      const at = delivery.nextAttemptAt ?? this.#parts.clock.now()
      this.#waiting.push(at + this.#parts.faults.drawLatencyMs(delivery), { delivery, ticket: delivery.ticket })
    }
    this.resume()
  }

  async whenIdle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay)
  }

  clear(): void {
    this.#waiting.clear()
    this.#lanes.clear()
    this.#arm()
  }

  /** Aborts attempts in progress; the next process that opens the log repeats them. */
  async close(): Promise<void> {
    this.#closing.abort()
    this.clear()
    await this.whenIdle()
  }

  /** Starts the attempts that are due, as far as webhooks and limits allow. */
  resume(): void {
    if (this.#closing.signal.aborted) return
    for (;;) {
      const plan = this.#waiting.takeDue(this.#parts.clock.now())
      if (plan === undefined) break
      if (this.#isPlanned(plan)) this.#laneOf(plan.delivery).due.add(plan.delivery)
    }
    let isMoving = true
    while (isMoving) {
      isMoving = false
      for (const lane of [...this.#lanes.values()]) isMoving = this.#startOne(lane) || isMoving
    }
    this.#arm()
  }

  #startOne(lane: Lane): boolean {
    const { webhooks, maxInFlight, maxInFlightPerWebhook } = this.#parts
    const webhook = webhooks.find(lane.webhookId)
    if (lane.due.size === 0 || webhook === undefined) {
      if (lane.inFlight === 0) this.#lanes.delete(lane.webhookId)
      return false
    }
    if (!webhook.active) return this.#passOver(lane, webhook)
    if (lane.inFlight >= maxInFlightPerWebhook || this.#underWay.size >= maxInFlight) return false
    const delivery = this.#take(lane)
    if (delivery === undefined) return false
    lane.inFlight++
    // Moves the lane behind the others, so that a busy webhook does not delay them.
    this.#lanes.delete(lane.webhookId)
    this.#lanes.set(lane.webhookId, lane)
    const work = this.#carryOut(delivery, webhook).finally(() => {
      lane.inFlight--
      this.#underWay.delete(work)
      this.resume()
    })
    this.#underWay.add(work)
    return true
  }

  #take(lane: Lane): StoredDelivery | undefined {
    const { faults } = this.#parts
    let drawn: StoredDelivery | undefined
    let left = faults.deliveries.shuffle ? SHUFFLED : 1
    for (const delivery of lane.due) {
      if (left-- === 0) break
      if (drawn === undefined || faults.place(delivery) < faults.place(drawn)) drawn = delivery
    }
    if (drawn !== undefined) lane.due.delete(drawn)
    return drawn
  }

  /** Skips retries that are due while their webhook is paused (A32). First attempts wait until it is resumed. */
  #passOver(lane: Lane, webhook: Webhook): boolean {
    const rule = this.#parts.assumed.retriesWhilePaused
    if (rule === 'held') return false
    const retries = [...lane.due].filter(({ attempts }) => attempts.length > 0)
    for (const delivery of retries) {
      lane.due.delete(delivery)
      if (rule === 'dropped') this.abandon(delivery, 'the webhook was paused')
      else this.#conclude(delivery, missAttempt(delivery, webhook, this.#parts.clock.now()))
    }
    return false
  }

  async #carryOut(delivery: StoredDelivery, webhook: Webhook): Promise<void> {
    const { clock, attempt } = this.#parts
    const { signal } = this.#closing
    delivery.isInFlight = true
    const work = attempt(delivery, webhook, signal)
    clock.track?.(work)
    const made = await work
    delivery.isInFlight = false // the next attempt may begin below
    // If the attempt was aborted, the next process repeats it with the same number.
    if (!signal.aborted && this.#isPending(delivery)) this.#conclude(delivery, made)
  }

  /** Waits on the clock, or until the engine closes. */
  async wait(ms: number): Promise<void> {
    await sleep(this.#parts.clock, ms, this.#closing.signal).catch(() => {})
  }

  #conclude(delivery: StoredDelivery, attempt: DeliveryAttempt): void {
    const attempts = [...delivery.attempts, attempt]
    const remaining = delivery.remaining - 1
    const nextAttemptAt = attempt.failure === undefined ? undefined : this.#timeAfter(delivery, attempt, remaining)
    const status = attempt.failure === undefined ? 'success' : nextAttemptAt === undefined ? 'failed' : 'pending'
    this.#change(delivery, { attempts, remaining, nextAttemptAt, status })
    this.#parts.feed.publish({ type: 'attempt', delivery, attempt })
    if (status === 'pending') this.schedule([delivery])
  }

  /** Returns the time of the attempt after a failed one; undefined if that was the last. */
  #timeAfter({ nextAttemptAt }: StoredDelivery, { at }: DeliveryAttempt, remaining: number): number | undefined {
    if (remaining === 0) return undefined
    const { assumed, clock, retryScale } = this.#parts
    const from = assumed.delayFrom === 'planned' ? (nextAttemptAt ?? at) : clock.now()
    return from + (ATTEMPT_DELAYS_MS[MAX_ATTEMPTS - remaining] ?? 0) / retryScale
  }

  /** Ends a pending delivery without further attempts. */
  abandon(delivery: StoredDelivery, note: string): void {
    this.#change(delivery, { status: 'failed', nextAttemptAt: undefined, note })
    this.#parts.feed.publish({ type: 'delivery', delivery })
  }

  /** Changes a delivery. If the disk is full, the change is kept in memory, and the attempt is repeated after a restart. */
  #change(delivery: StoredDelivery, change: DeliveryChange): void {
    const { log, feed } = this.#parts
    try {
      log.update([delivery], change)
    } catch (error) {
      log.updateUnwritten([delivery], change)
      feed.warn(`delivery ${delivery.id} could not be written to the database: ${String(error)}`)
    }
  }

  #isPending(delivery: StoredDelivery): boolean {
    return delivery.status === 'pending' && this.#parts.log.has(delivery)
  }

  #isPlanned({ delivery, ticket }: Plan): boolean {
    return ticket === delivery.ticket && this.#isPending(delivery)
  }

  #laneOf({ webhookId }: StoredDelivery): Lane {
    const lane = this.#lanes.get(webhookId) ?? { webhookId, due: new Set(), inFlight: 0 }
    this.#lanes.set(webhookId, lane)
    return lane
  }

  #arm(): void {
    const { clock } = this.#parts
    const at = this.#waiting.nextAt
    if (at === this.#timer?.at) return
    if (this.#timer !== undefined) clock.clearTimeout(this.#timer.handle)
    this.#timer = undefined
    if (at === undefined) return
    const onTime = () => {
      this.#timer = undefined
      this.resume()
    }
    this.#timer = { at, handle: clock.setTimeout(onTime, Math.min(LONGEST_TIMER_MS, Math.max(0, at - clock.now()))) }
  }
}

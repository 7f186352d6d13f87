import { setMaxListeners } from 'node:events'
import { type Clock, LONGEST_TIMER_MS } from '../host/clock.ts'
import { ATTEMPT_DELAYS_MS, MAX_ATTEMPTS } from '../protocol/schedule.ts'
import type { Assumed } from './assumptions.ts'
import type { DeliveryAttempt, StoredDelivery } from './delivery.ts'
import type { DeliveryChange, DeliveryLog } from './delivery-log.ts'
import { DueQueue } from './due-queue.ts'
import type { Faults } from './faults.ts'
import type { Feed } from './feed.ts'
import { missAttempt } from './make-attempt.ts'
import type { Webhook, Webhooks } from './webhooks.ts'

export interface EngineParts {
  readonly clock: Clock & { track?(work: PromiseLike<unknown>): void }
  readonly assumed: Assumed
  readonly log: DeliveryLog
  readonly webhooks: Webhooks
  readonly faults: Faults
  readonly feed: Feed
  /** Makes one attempt. Never rejects. */
  readonly attempt: (delivery: StoredDelivery, webhook: Webhook, signal: AbortSignal) => Promise<DeliveryAttempt>
  /** Divides the delays between attempts. */
  readonly retryScale: number
  readonly maxInFlight: number
  readonly maxInFlightPerWebhook: number
}

/** An attempt to come. It counts only while the delivery's ticket is still the same. */
interface Plan {
  readonly delivery: StoredDelivery
  readonly ticket: number
}

/** Due deliveries of one webhook. */
interface Lane {
  readonly webhookId: string
  due: Set<StoredDelivery>
  inFlight: number
}

/** Due deliveries that are shuffled with each other. */
const SHUFFLED = 16

/** Makes the attempts when they are due. Service text, sections 3.2 and 8. */
export class Engine {
  readonly #parts: EngineParts
  readonly #waiting = new DueQueue<Plan>()
  readonly #lanes = new Map<string, Lane>()
  readonly #closing = new AbortController()
  readonly #underWay = new Set<Promise<void>>()
  /** Times at which deliveries leave that wait for their latency. */
  readonly #leaving = new Map<StoredDelivery, number>()
  #timer: { readonly at: number; readonly handle: unknown } | undefined

  constructor(parts: EngineParts) {
    this.#parts = parts
    setMaxListeners(0, this.#closing.signal) // each attempt under way listens
  }

  get inFlight(): number {
    return this.#underWay.size
  }

  /** When the next attempt is due, in milliseconds since 1970. Those of paused webhooks wait for no time. */
  get nextDueAt(): number | undefined {
    const isToCome = (plan: Plan) => this.#isPlanned(plan) && this.#passesTime(plan.delivery)
    const nextAt = Math.min(...this.#leaving.values(), this.#waiting.nextAtOf(isToCome) ?? Infinity)
    return nextAt === Infinity ? undefined : nextAt
  }

  /** Takes up what was pending when the process ended. */
  start(): void {
    this.schedule(this.#parts.log.listPending())
  }

  /** Plans the next attempt of each, at the time that the delivery says. */
  schedule(deliveries: readonly StoredDelivery[]): void {
    for (const delivery of deliveries) {
      delivery.ticket++
      const at = delivery.nextAttemptAt ?? this.#parts.clock.now()
      this.#waiting.push(at, { delivery, ticket: delivery.ticket })
    }
    this.#pump()
  }

  /** Lets deliveries go that waited for a webhook. */
  resume(): void {
    this.#pump()
  }

  /** Forgets what waits for a webhook that is gone. */
  dropWebhook(webhookId: string): void {
    this.#lanes.delete(webhookId)
  }

  /** Ends when no attempt is under way. */
  async whenIdle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay)
  }

  /** Forgets everything, attempts under way as well. */
  clear(): void {
    this.#waiting.clear()
    this.#leaving.clear()
    this.#lanes.clear()
    this.#arm()
  }

  /** Cuts what is under way; it will be attempted again by whoever takes up the log. */
  async close(): Promise<void> {
    this.#closing.abort()
    this.clear()
    await this.whenIdle()
  }

  #pump(): void {
    if (this.#closing.signal.aborted) return
    const { clock, maxInFlight } = this.#parts
    for (;;) {
      const plan = this.#waiting.takeDue(clock.now())
      if (plan === undefined) break
      if (this.#isPlanned(plan)) this.#laneOf(plan.delivery).due.add(plan.delivery)
    }
    let isMoving = true
    while (isMoving && this.#underWay.size < maxInFlight) {
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
    if (!webhook.active) return this.#passOver(lane)
    if (lane.inFlight >= maxInFlightPerWebhook || this.#underWay.size >= maxInFlight) return false
    const delivery = this.#take(lane)
    if (delivery === undefined) return false
    lane.inFlight++
    // It goes behind the others, so that busy webhooks do not hold them up.
    this.#lanes.delete(lane.webhookId)
    this.#lanes.set(lane.webhookId, lane)
    const work = this.#carryOut(delivery, lane).finally(() => {
      delivery.isInFlight = false
      lane.inFlight--
      this.#underWay.delete(work)
      this.#pump()
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

  /** Retries that are due while their webhook is paused (A32). First attempts wait for the resume. */
  #passOver(lane: Lane): boolean {
    const rule = this.#parts.assumed.retriesWhilePaused
    if (rule === 'held') return false
    const retries = [...lane.due].filter(({ attempts }) => attempts.length > 0)
    for (const delivery of retries) {
      lane.due.delete(delivery)
      if (rule === 'dropped') this.#abandon(delivery, 'the webhook was paused')
      else this.#conclude(delivery, missAttempt(delivery, this.#parts.clock.now()))
    }
    return false
  }

  async #carryOut(delivery: StoredDelivery, lane: Lane): Promise<void> {
    const { clock, faults, webhooks, attempt } = this.#parts
    delivery.isInFlight = true
    const latencyMs = faults.drawLatencyMs(delivery)
    if (latencyMs > 0) {
      this.#leaving.set(delivery, clock.now() + latencyMs)
      await this.wait(latencyMs)
      this.#leaving.delete(delivery)
    }
    // Meanwhile the webhook may have been deleted, paused or changed.
    if (this.#closing.signal.aborted || !this.#isPending(delivery)) return
    const webhook = webhooks.find(lane.webhookId)
    if (webhook === undefined || !webhook.active) {
      lane.due = new Set([delivery, ...lane.due])
      return
    }
    const work = attempt(delivery, webhook, this.#closing.signal)
    clock.track?.(work)
    const made = await work
    // The next process makes an attempt that was cut off again, with the same number.
    if (!this.#closing.signal.aborted && this.#isPending(delivery)) this.#conclude(delivery, made)
  }

  /** Waits on the clock, or until the emulator closes. */
  wait(ms: number): Promise<void> {
    const { clock } = this.#parts
    const { signal } = this.#closing
    return new Promise((resolve) => {
      const end = () => {
        clock.clearTimeout(timer)
        signal.removeEventListener('abort', end)
        resolve()
      }
      const timer = clock.setTimeout(end, ms)
      signal.addEventListener('abort', end, { once: true })
    })
  }

  #conclude(delivery: StoredDelivery, attempt: DeliveryAttempt): void {
    delivery.isInFlight = false
    const attempts = [...delivery.attempts, attempt]
    const remaining = delivery.remaining - 1
    const nextAttemptAt = attempt.failure === undefined ? undefined : this.#timeAfter(delivery, attempt, remaining)
    const status = attempt.failure === undefined ? 'success' : nextAttemptAt === undefined ? 'failed' : 'pending'
    this.#change(delivery, { attempts, remaining, nextAttemptAt, status })
    this.#parts.feed.publish({ type: 'attempt', delivery, attempt })
    if (status === 'pending') this.schedule([delivery])
  }

  /** The time of the attempt after a failed one; undefined if that was the last. */
  #timeAfter({ nextAttemptAt }: StoredDelivery, { at }: DeliveryAttempt, remaining: number): number | undefined {
    if (remaining === 0) return undefined
    const { assumed, clock, retryScale } = this.#parts
    const from = assumed.delayFrom === 'planned' ? (nextAttemptAt ?? at) : clock.now()
    return from + (ATTEMPT_DELAYS_MS[MAX_ATTEMPTS - remaining] ?? 0) / retryScale
  }

  #abandon(delivery: StoredDelivery, note: string): void {
    this.#change(delivery, { status: 'failed', nextAttemptAt: undefined, note })
    this.#parts.feed.publish({ type: 'delivery', delivery })
  }

  /** Survives a full disk: an attempt that is not written is made again after a restart. */
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

  /** Whether something becomes of it when it is due: what a pause holds waits for the resume. */
  #passesTime({ webhookId }: StoredDelivery): boolean {
    const { webhooks, assumed } = this.#parts
    return webhooks.find(webhookId)?.active === true || assumed.retriesWhilePaused !== 'held'
  }

  #isPlanned({ delivery, ticket }: Plan): boolean {
    return ticket === delivery.ticket && this.#isPending(delivery)
  }

  #laneOf({ webhookId }: StoredDelivery): Lane {
    const lane = this.#lanes.get(webhookId) ?? { webhookId, due: new Set(), inFlight: 0 }
    this.#lanes.set(webhookId, lane)
    return lane
  }

  /** One timer, for the first that waits. */
  #arm(): void {
    const { clock } = this.#parts
    const at = this.#waiting.nextAt
    if (at === this.#timer?.at) return
    if (this.#timer !== undefined) clock.clearTimeout(this.#timer.handle)
    this.#timer = undefined
    if (at === undefined) return
    const onTime = () => {
      this.#timer = undefined
      this.#pump()
    }
    this.#timer = { at, handle: clock.setTimeout(onTime, Math.min(LONGEST_TIMER_MS, Math.max(0, at - clock.now()))) }
  }
}

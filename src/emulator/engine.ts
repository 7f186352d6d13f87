import { setMaxListeners } from 'node:events'
import { type Clock, LONGEST_TIMER_MS } from '../host/clock.ts'
import { ATTEMPT_DELAYS_MS, MAX_ATTEMPTS } from '../protocol/schedule.ts'
import type { Assumed } from './assumptions.ts'
import type { DeliveryAttempt, StoredDelivery } from './delivery.ts'
import type { DeliveryLog } from './delivery-log.ts'
import { DueQueue } from './due-queue.ts'
import type { Faults } from './faults.ts'
import type { Feed } from './feed.ts'
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

/** What is due of one webhook. */
interface Lane {
  readonly webhookId: string
  readonly due: Set<StoredDelivery>
  inFlight: number
}

/** How many of those that are due are shuffled with each other. */
const SHUFFLED = 16

/** Makes the attempts when they are due. Service text, sections 3.2 and 8. */
export class Engine {
  readonly #parts: EngineParts
  readonly #waiting = new DueQueue<Plan>()
  readonly #lanes = new Map<string, Lane>()
  readonly #closing = new AbortController()
  readonly #underWay = new Set<Promise<void>>()
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
    for (let first = this.#waiting.first; first !== undefined && !this.#isPlanned(first); first = this.#waiting.first)
      this.#waiting.takeDue(Infinity)
    return this.#waiting.nextAt
  }

  /** Takes up what was pending when the process ended. */
  start(): void {
    for (const delivery of this.#parts.log.listPending()) this.schedule(delivery)
  }

  /** Plans the next attempt, at the time that the delivery says. */
  schedule(delivery: StoredDelivery): void {
    delivery.ticket++
    const at = delivery.nextAttemptAt ?? this.#parts.clock.now()
    this.#waiting.push(at, { delivery, ticket: delivery.ticket })
    this.#pump()
  }

  /** What waits for the webhook may go. */
  resume(): void {
    this.#pump()
  }

  /** Forgets what waits for a webhook that is gone. */
  dropWebhook(webhookId: string): void {
    for (const delivery of this.#lanes.get(webhookId)?.due ?? []) delivery.ticket++
    this.#lanes.delete(webhookId)
  }

  /** Ends when no attempt is under way. */
  async whenIdle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay)
  }

  /** Forgets everything, attempts under way as well. */
  clear(): void {
    this.#waiting.clear()
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
    const work = this.#carryOut(delivery, webhook).finally(() => {
      lane.inFlight--
      this.#underWay.delete(work)
      this.#pump()
    })
    this.#underWay.add(work)
    this.#parts.clock.track?.(work)
    return true
  }

  #take(lane: Lane): StoredDelivery | undefined {
    const { faults } = this.#parts
    let skipped = faults.deliveries.shuffle ? faults.drawIndex(Math.min(SHUFFLED, lane.due.size)) : 0
    for (const delivery of lane.due) {
      if (skipped-- > 0) continue
      lane.due.delete(delivery)
      return delivery
    }
    return undefined
  }

  /** What is due while its webhook is paused (A32). First attempts are there only where events are kept (A31). */
  #passOver(lane: Lane): boolean {
    const rule = this.#parts.assumed.A32
    if (rule === 'held') return false
    const retries = [...lane.due].filter(({ attempts }) => attempts.length > 0)
    for (const delivery of retries) {
      lane.due.delete(delivery)
      if (rule === 'dropped') this.abandon(delivery, 'the webhook was paused')
      else this.#conclude(delivery, this.#missedAttempt(delivery))
    }
    return false
  }

  #missedAttempt(delivery: StoredDelivery): DeliveryAttempt {
    return {
      number: delivery.attempts.length + 1,
      url: delivery.firstUrl,
      at: this.#parts.clock.now(),
      durationMs: 0,
      status: undefined,
      failure: 'paused',
      error: 'the webhook is paused',
      responseHeaders: {},
      responseBody: '',
    }
  }

  async #carryOut(delivery: StoredDelivery, webhook: Webhook): Promise<void> {
    delivery.isInFlight = true
    const attempt = await this.#parts.attempt(delivery, webhook, this.#closing.signal)
    delivery.isInFlight = false
    // The process that comes next makes this attempt again, with the same number.
    if (this.#closing.signal.aborted) return
    if (this.#isPending(delivery)) this.#conclude(delivery, attempt)
  }

  #conclude(delivery: StoredDelivery, attempt: DeliveryAttempt): void {
    const plannedAt = delivery.nextAttemptAt ?? attempt.at
    delivery.attempts.push(attempt)
    delivery.remaining--
    delivery.nextAttemptAt = undefined
    if (attempt.failure === undefined) delivery.status = 'success'
    else if (delivery.remaining === 0) delivery.status = 'failed'
    else {
      const delay = (ATTEMPT_DELAYS_MS[MAX_ATTEMPTS - delivery.remaining] ?? 0) / this.#parts.retryScale
      delivery.nextAttemptAt = (this.#parts.assumed.A36 === 'planned' ? plannedAt : this.#parts.clock.now()) + delay
    }
    this.#save(delivery)
    this.#parts.feed.publish({ type: 'attempt', delivery, attempt })
    if (delivery.nextAttemptAt !== undefined) this.schedule(delivery)
  }

  /** A delivery that will not be attempted any more. */
  abandon(delivery: StoredDelivery, note: string): void {
    delivery.ticket++
    delivery.status = 'failed'
    delivery.nextAttemptAt = undefined
    delivery.note = note
    this.#save(delivery)
    this.#parts.feed.publish({ type: 'delivery', delivery })
  }

  /** A disk that is full must not end the process: what is not written is attempted again after a restart. */
  #save(delivery: StoredDelivery): void {
    try {
      this.#parts.log.update(delivery)
    } catch (error) {
      this.#parts.feed.warn(`delivery ${delivery.id} could not be written to the database: ${String(error)}`)
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

import { ATTEMPT_DELAYS_MS, SERVICE_DEADLINE_MS } from '../../../src/protocol/schedule.ts'
import type { Cluster } from './cluster.ts'
import { deliver } from './deliver.ts'
import { toBody } from './messages.ts'
import type { EventPlan } from './plan.ts'
import { Chance } from './random.ts'
import type { World } from './world.ts'

/** Manual retries of an event whose five attempts failed, hours apart, after the last fault is over. */
const MANUAL_RETRIES = 10
const HOUR_MS = 3_600_000

/** The state of one event at the sender. */
export interface Sent {
  readonly event: EventPlan
  attempts: number
  isAcknowledged: boolean
  /** Attempts that began after the last fault was over. */
  calmAttempts: number
}

/** The service: it sends events on its schedule, with duplicates, until they are acknowledged. */
export class Sender {
  readonly sent: readonly Sent[]
  /** Attempts that are under way or to come. */
  pending = 0
  readonly #world: World
  readonly #cluster: Cluster
  readonly #calmFrom: number

  /** @param calmFrom when the last fault is over: manual retries continue until some were later */
  constructor(world: World, cluster: Cluster, calmFrom: number) {
    this.#world = world
    this.#cluster = cluster
    this.#calmFrom = calmFrom
    this.sent = world.plan.events.map((event) => ({ event, attempts: 0, isAcknowledged: false, calmAttempts: 0 }))
    for (const sent of this.sent) {
      const { at, duplicatesAfterMs } = sent.event
      this.#plan(at, () => this.#attempt(sent))
      for (const afterMs of duplicatesAfterMs) this.#plan(at + afterMs, () => this.#send(sent, true, () => {}))
    }
  }

  #plan(at: number, action: () => void): void {
    this.pending++
    this.#world.scheduler.at(at, () => {
      this.pending--
      action()
    })
  }

  #attempt(sent: Sent): void {
    this.#send(sent, false, (isAcknowledged) => {
      sent.isAcknowledged ||= isAcknowledged
      if (isAcknowledged) return
      const waitMs = this.#waitBeforeNext(sent)
      if (waitMs !== undefined) this.#plan(this.#world.now + waitMs, () => this.#attempt(sent))
    })
  }

  /** Returns the delay before the next attempt; undefined if there is none. */
  #waitBeforeNext({ attempts, calmAttempts, event }: Sent): number | undefined {
    const delayMs = ATTEMPT_DELAYS_MS[attempts]
    if (delayMs !== undefined) return delayMs
    if (calmAttempts >= MANUAL_RETRIES) return undefined
    return new Chance(event.seed, 'manual retry', attempts).int(HOUR_MS, 5 * HOUR_MS)
  }

  /** Makes one attempt. Calls back with true if a 2xx arrived in time. */
  #send(sent: Sent, isDuplicate: boolean, onEnd: (isAcknowledged: boolean) => void): void {
    const world = this.#world
    const { event } = sent
    const number = isDuplicate ? undefined : sent.attempts++
    if (!isDuplicate && world.now >= this.#calmFrom) sent.calmAttempts++
    const chance = new Chance(event.seed, isDuplicate ? 'duplicate' : 'attempt', number ?? world.now)
    const isAnswerLost = number !== undefined && event.lostAnswers.includes(number)
    const body = toBody(event)
    const what = `event ${event.number}, ${number === undefined ? 'a duplicate' : `attempt ${number + 1}`}`
    this.pending++
    let isOver = false
    const end = (status: number | undefined, why: string) => {
      if (isOver) return
      isOver = true
      this.pending--
      timer.action = undefined
      world.say('sender', () => `${what}: ${status ?? why}`)
      onEnd(status !== undefined && status >= 200 && status < 300)
    }
    const timer = world.scheduler.after(SERVICE_DEADLINE_MS, () => end(undefined, 'no answer within 10 s'))
    const signature = world.secrets.sign(body, event.account)
    const life = this.#cluster.pick(chance)
    world.say('sender', () => `${what} goes to ${life?.name ?? 'nobody: the connection is refused'}`)
    if (life === undefined) return end(undefined, 'the connection was refused')
    deliver(world, life, { what: event, isIntruder: false, body, signature, chance }, (status) => {
      if (!isAnswerLost) end(status, 'the connection was cut')
    })
  }
}

import type { Delivery } from './delivery.ts'
import type { Random } from './random.ts'

/** Faults of deliveries, at random. */
export interface DeliveryFaults {
  /** The share of attempts that fail before anything is sent, from 0 to 1. */
  readonly fail: number
  /** The share of attempts that are sent twice, concurrently. */
  readonly duplicate: number
  /** Whether deliveries that are due leave in any order. */
  readonly shuffle: boolean
  /** Wait of an attempt before it is sent: from and to, in milliseconds. */
  readonly latencyMs: readonly [number, number] | undefined
}

/** Answer to the next calls of the service's API, in place of the true one. */
export interface AnswerFault {
  readonly answer: '401' | '429' | '500' | 'slow' | 'reset'
  /** For how many calls. */
  readonly count: number
  /** For `slow`: how long the answer takes, by the emulator's clock. */
  readonly delayMs: number
}

/** The faults that were asked for. */
export class Faults {
  readonly #random: Random
  readonly #initial: DeliveryFaults
  #answers: AnswerFault[] = []
  deliveries: DeliveryFaults

  constructor(random: Random, deliveries: DeliveryFaults) {
    this.#random = random
    this.#initial = deliveries
    this.deliveries = deliveries
  }

  get answers(): readonly AnswerFault[] {
    return this.#answers
  }

  addAnswer(fault: AnswerFault): void {
    this.#answers.push(fault)
  }

  /** The fault of this call, if it has one. */
  takeAnswer(): AnswerFault | undefined {
    const [first, ...rest] = this.#answers
    if (first === undefined) return undefined
    this.#answers = first.count > 1 ? [{ ...first, count: first.count - 1 }, ...rest] : rest
    return first
  }

  /** Whether the next attempt of a delivery has that fault. */
  draw(fault: 'fail' | 'duplicate', delivery: Delivery): boolean {
    return this.#numberOf(fault, delivery) < this.deliveries[fault]
  }

  /** Where shuffled deliveries put this one: the lowest leaves first. */
  place(delivery: Delivery): number {
    return this.#numberOf('shuffle', delivery)
  }

  drawLatencyMs(delivery: Delivery): number {
    if (this.deliveries.latencyMs === undefined) return 0
    const [from, to] = this.deliveries.latencyMs
    return from + this.#numberOf('latency', delivery) * (to - from)
  }

  /** The same for the next attempt of that delivery however often it is asked, and whatever other deliveries do meanwhile. */
  #numberOf(fault: string, { id, attempts }: Delivery): number {
    return this.#random.numberOf(`${fault}:${id}:${attempts.length}`)
  }

  clear(): void {
    this.#answers = []
    this.deliveries = this.#initial
  }
}

import type { EmulatorDelivery } from './delivery.ts'
import type { Random } from './random.ts'

/** Random faults of deliveries. */
export interface DeliveryFaults {
  /** Share of attempts that fail before anything is sent, from 0 to 1. */
  readonly fail: number
  /** Share of attempts that are sent twice concurrently, from 0 to 1. */
  readonly duplicate: number
  /** True if due deliveries are sent in random order. */
  readonly shuffle: boolean
  /** Delay of an attempt before it is sent: minimum and maximum in milliseconds. */
  readonly latencyMs: readonly [number, number] | undefined
}

/** Answer to the next calls of the service's API, instead of the real one. */
export interface AnswerFault {
  readonly answer: '401' | '429' | '500' | 'slow' | 'reset'
  /** Number of calls to answer this way. */
  readonly count: number
  /** Delay of the answer in milliseconds, by the emulator's clock; for `slow`. */
  readonly delayMs: number
}

/** Faults that the user requested. */
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

  /** Takes the fault of this call, if there is one. */
  takeAnswer(): AnswerFault | undefined {
    const [first, ...rest] = this.#answers
    if (first === undefined) return undefined
    this.#answers = first.count > 1 ? [{ ...first, count: first.count - 1 }, ...rest] : rest
    return first
  }

  draw(fault: 'fail' | 'duplicate', delivery: EmulatorDelivery): boolean {
    return this.#numberOf(fault, delivery) < this.deliveries[fault]
  }

  /** Returns the position of a delivery among shuffled ones: the lowest is sent first. */
  place(delivery: EmulatorDelivery): number {
    return this.#numberOf('shuffle', delivery)
  }

  drawLatencyMs(delivery: EmulatorDelivery): number {
    if (this.deliveries.latencyMs === undefined) return 0
    const [from, to] = this.deliveries.latencyMs
    return from + this.#numberOf('latency', delivery) * (to - from)
  }

  /** Returns a number that depends only on the fault and the attempt, and not on the order of calls or on other deliveries. */
  #numberOf(fault: string, { id, attempts }: EmulatorDelivery): number {
    return this.#random.numberOf(`${fault}:${id}:${attempts.length}`)
  }

  clear(): void {
    this.#answers = []
    this.deliveries = this.#initial
  }
}

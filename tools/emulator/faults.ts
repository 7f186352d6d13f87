import type { EmulatorDelivery } from './delivery.ts'
import type { AnswerFault, DeliveryFaults } from './options.ts'
import type { Random } from './random.ts'

export class Faults {
  readonly #random: Random
  readonly #initial: DeliveryFaults
  answers: readonly AnswerFault[] = []
  deliveries: DeliveryFaults

  constructor(random: Random, deliveries: DeliveryFaults) {
    this.#random = random
    this.#initial = deliveries
    this.deliveries = deliveries
  }

  addAnswer(fault: AnswerFault): void {
    this.answers = [...this.answers, fault]
  }

  takeAnswer(): AnswerFault | undefined {
    const [first, ...rest] = this.answers
    if (first === undefined) return undefined
    this.answers = first.count > 1 ? [{ ...first, count: first.count - 1 }, ...rest] : rest
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
    this.answers = []
    this.deliveries = this.#initial
  }
}

import type { EmulatorDelivery } from './delivery.ts'
import type { AnswerFault, DeliveryFaults } from './options.ts'
import type { Random } from './random.ts'

export type Faults = ReturnType<typeof createFaults>

export function createFaults(random: Random, initial: DeliveryFaults) {
  /** Returns a number that depends only on the fault and the attempt, and not on the order of calls or on other deliveries. */
  const numberOf = (fault: string, { id, attempts }: EmulatorDelivery): number =>
    random.numberOf(`${fault}:${id}:${attempts.length}`)
  const faults = {
    answers: [] as readonly AnswerFault[],
    deliveries: initial,
    addAnswer(fault: AnswerFault): void {
      faults.answers = [...faults.answers, fault]
    },
    takeAnswer(): AnswerFault | undefined {
      const [first, ...rest] = faults.answers
      if (first === undefined) return undefined
      faults.answers = first.count > 1 ? [{ ...first, count: first.count - 1 }, ...rest] : rest
      return first
    },
    draw: (fault: 'fail' | 'duplicate', delivery: EmulatorDelivery): boolean =>
      numberOf(fault, delivery) < faults.deliveries[fault],
    /** Returns the position of a delivery among shuffled ones: the lowest is sent first. */
    place: (delivery: EmulatorDelivery): number => numberOf('shuffle', delivery),
    drawLatencyMs(delivery: EmulatorDelivery): number {
      const [from, to] = faults.deliveries.latencyMs ?? [0, 0]
      return from + numberOf('latency', delivery) * (to - from)
    },
    clear(): void {
      faults.answers = []
      faults.deliveries = initial
    },
  }
  return faults
}

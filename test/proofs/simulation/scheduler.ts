/** One thing that happens at one moment. */
export interface Step {
  readonly at: number
  readonly urgency: number
  readonly order: number
  action: (() => void) | undefined
}

/** Waits until all promises have settled that can: Node empties the queue of microtasks before the next immediate. */
const drain = () => new Promise<void>((resolve) => setImmediate(resolve))

/**
 * Simulated time, in milliseconds from 0. Steps are taken one after the other, by time, then by urgency, then in the order in
 * which they were planned. After each step all promises settle before the next one is taken.
 */
export class Scheduler {
  /** The number of steps so far. */
  taken = 0
  /** The next step is the last one. */
  readonly #steps: Step[] = []
  #now = 0
  #order = 0

  get now(): number {
    return this.#now
  }

  /** Plans a step. Among the steps of one moment, those of the lowest urgency number come first. */
  at(time: number, action: () => void, urgency = 0): Step {
    const step: Step = { at: Math.max(time, this.#now), urgency, order: this.#order++, action }
    this.#steps.splice(this.#steps.findLastIndex((other) => isBefore(step, other)) + 1, 0, step)
    return step
  }

  after(ms: number, action: () => void): Step {
    return this.at(this.#now + ms, action)
  }

  /** Takes steps until none is left, or `most` have been taken. Returns true if none is left. */
  async run(most: number): Promise<boolean> {
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      const { action } = step
      if (action === undefined) continue // it was cancelled
      if (++this.taken > most) return false
      this.#now = step.at
      action()
      await drain()
    }
    return true
  }
}

function isBefore(one: Step, other: Step): boolean {
  if (one.at !== other.at) return one.at < other.at
  return one.urgency !== other.urgency ? one.urgency < other.urgency : one.order < other.order
}

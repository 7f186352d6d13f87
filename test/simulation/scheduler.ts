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
  readonly #heap: Step[] = []
  #now = 0
  #order = 0

  get now(): number {
    return this.#now
  }

  /** Plans a step. Among the steps of one moment, those of the lowest urgency number come first. */
  at(time: number, action: () => void, urgency = 0): Step {
    const step: Step = { at: Math.max(time, this.#now), urgency, order: this.#order++, action }
    this.#push(step)
    return step
  }

  after(ms: number, action: () => void): Step {
    return this.at(this.#now + ms, action)
  }

  /** Takes steps until none is left, or `most` have been taken. Returns true if none is left. */
  async run(most: number): Promise<boolean> {
    for (let step = this.#pop(); step !== undefined; step = this.#pop()) {
      const { action } = step
      if (action === undefined) continue // it was cancelled
      if (++this.taken > most) return false
      this.#now = step.at
      action()
      await drain()
    }
    return true
  }

  #push(step: Step): void {
    const heap = this.#heap
    let index = heap.length
    heap.push(step)
    while (index > 0) {
      const parent = (index - 1) >> 1
      const above = heap[parent]
      if (above === undefined || isBefore(above, step)) break
      heap[index] = above
      index = parent
    }
    heap[index] = step
  }

  #pop(): Step | undefined {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (first === undefined || last === undefined || heap.length === 0) return first
    let index = 0
    for (;;) {
      const left = heap[2 * index + 1]
      const right = heap[2 * index + 2]
      if (left === undefined) break
      const isRight = right !== undefined && isBefore(right, left)
      const next = isRight ? right : left
      if (isBefore(last, next)) break
      heap[index] = next
      index = 2 * index + (isRight ? 2 : 1)
    }
    heap[index] = last
    return first
  }
}

function isBefore(one: Step, other: Step): boolean {
  if (one.at !== other.at) return one.at < other.at
  return one.urgency !== other.urgency ? one.urgency < other.urgency : one.order < other.order
}

/** Function that waits for a turn, and returns the function that ends it. */
export type TakeTurn = (isAlone?: boolean, isUrgent?: boolean) => Promise<() => void>

/** Time after which others no longer wait for a delivery: it may never be answered. */
const LONGEST_TURN_MS = 2_000

/** Ends a turn once the work is done, or has taken long. */
export function endAfter<T>(end: () => void, work: Promise<T>): Promise<T> {
  const timer = setTimeout(end, LONGEST_TURN_MS)
  return work.finally(() => {
    clearTimeout(timer)
    end()
  })
}

/** Creates turns that are taken in the order of the calls, urgent ones first: so many at the same time, or one that is alone. */
export function createTurns(width: number | (() => number)): TakeTurn {
  const queue: { readonly isAlone: boolean; readonly begin: () => void }[] = []
  let shared = 0
  let isTaken = false
  const beginNext = () => {
    for (let [first] = queue; first !== undefined; [first] = queue) {
      if (isTaken || (first.isAlone ? shared > 0 : shared >= (typeof width === 'number' ? width : width()))) return
      if (first.isAlone) isTaken = true
      else shared++
      queue.shift()
      first.begin()
    }
  }
  return async (isAlone = false, isUrgent = false) => {
    await new Promise<void>((begin) => {
      if (isUrgent) queue.unshift({ isAlone, begin })
      else queue.push({ isAlone, begin })
      beginNext()
    })
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      if (isAlone) isTaken = false
      else shared--
      beginNext()
    }
  }
}

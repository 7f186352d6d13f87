import type { Clock } from '../host/clock.ts'

/** Longest pause between two reads of a log, in milliseconds. */
export const MAX_POLL_MS = 3_600_000
/** Longest time to wait for results in a log, in milliseconds: a year. */
export const MAX_WAIT_MS = 365 * 86_400_000

export async function sleep(clock: Clock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  let timer: unknown
  const isOver = new Promise<void>((resolve) => {
    timer = clock.setTimeout(resolve, ms)
  })
  await untilAborted(isOver, signal).finally(() => clock.clearTimeout(timer))
}

/** Stops waiting for work when the signal aborts. The work itself goes on. */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason)
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}

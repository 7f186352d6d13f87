const TICK_MS = 20

/**
 * Starts a watch that stands still while the machine is too busy to run this process. Returns a function that stops and reads it, in
 * milliseconds.
 */
export function startWatch(): () => number {
  let ticks = 0
  const ticking = setInterval(() => ticks++, TICK_MS).unref()
  return () => {
    clearInterval(ticking)
    return ticks * TICK_MS
  }
}

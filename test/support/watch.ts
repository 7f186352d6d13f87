const TICK_MS = 20

/** Starts a watch that stands still while the machine is too busy to run this process, and returns a function that reads it, in milliseconds. */
export function startWatch(): () => number {
  let ticks = 0
  setInterval(() => ticks++, TICK_MS).unref()
  return () => ticks * TICK_MS
}

import { isLocked } from './result-code.ts'

const GIVE_UP_AFTER_MS = 2_000
const PAUSE_MS = 10

/**
 * Runs a step at the start of the app, and repeats it while another process has the file locked: several processes that start together
 * create file and table at the same moment. Blocks the event loop meanwhile.
 */
export function untilUnlocked<T>(work: () => T, giveUpAfterMs = GIVE_UP_AFTER_MS): T {
  const started = performance.now()
  for (;;) {
    try {
      return work()
    } catch (error) {
      if (!isLocked(error) || performance.now() - started >= giveUpAfterMs) throw error
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS)
  }
}

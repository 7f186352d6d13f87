import type { Reporter } from 'vitest/node'

const EVERY_MS = 20_000
/** A run of fewer files is over before a reader asks. */
const LEAST_FILES = 20

/** A vitest reporter: how far a long run is, and how long the rest takes at its pace so far, in plain lines without control characters. */
export function progress(): Reporter {
  const startedAt = performance.now()
  const counts = { passed: 0, failed: 0, skipped: 0, pending: 0 }
  let [files, done, toldAt] = [0, 0, startedAt]

  return {
    onTestRunStart(specifications) {
      files = specifications.length
    },
    onTestModuleEnd(module) {
      done += 1
      for (const test of module.children.allTests()) counts[test.result().state] += 1
      const now = performance.now()
      if (files < LEAST_FILES || now - toldAt < EVERY_MS) return
      toldAt = now
      const left = Math.ceil(((now - startedAt) * (files - done)) / done / 10_000) * 10
      process.stdout.write(
        `${done} of ${files} files, ${counts.passed} tests passed, ${counts.failed} failed, about ${left} s left\n`,
      )
    },
  }
}

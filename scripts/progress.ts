import type { Reporter, TestModule } from 'vitest/node'

/** The average time of a test file in the whole suite on two cores: 420 s for 348 files. */
const SECONDS_PER_FILE = 1.2
/** A run of fewer files is over before a reader asks. */
const LEAST_FILES = 20
/** From this share of the files on, the pace so far tells what is left. */
const KNOWN_PACE = 0.1

/**
 * A vitest reporter: how many files run and about how long that takes, first and then every `everyMs`, in plain lines without control
 * characters.
 */
export function progress({ everyMs = 20_000 } = {}): Reporter {
  const startedAt = performance.now()
  let files = 0
  let done = 0
  const counts = { passed: 0, failed: 0 }
  let toldAt = startedAt

  return {
    onTestRunStart(specifications) {
      files = specifications.length
      if (files >= LEAST_FILES) say(`${files} test files, ${asTime(files * SECONDS_PER_FILE)} on two cores`)
    },
    onTestModuleEnd(module) {
      done += 1
      count(module, counts)
      const now = performance.now()
      if (files < LEAST_FILES || done === files || now - toldAt < everyMs) return
      toldAt = now
      const seconds = (now - startedAt) / 1_000
      const left = done < files * KNOWN_PACE ? '' : `, ${asTime((seconds * (files - done)) / done)} left`
      say(`${done} of ${files} files, ${counts.passed} tests passed, ${counts.failed} failed${left}`)
    },
  }
}

function count(module: TestModule, counts: { passed: number; failed: number }): void {
  for (const test of module.children.allTests()) {
    const { state } = test.result()
    if (state === 'passed' || state === 'failed') counts[state] += 1
  }
}

function asTime(seconds: number): string {
  return seconds < 90 ? `about ${Math.ceil(seconds / 10) * 10} s` : `about ${Math.round(seconds / 60)} min`
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

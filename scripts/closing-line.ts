import type { Reporter, TestModule } from 'vitest/node'

/** A vitest reporter: prints the result of the run as its last line, `N passed, N failed[, N skipped]`, for CI to read. */
export const closingLine: Reporter = {
  onTestRunEnd(modules, unhandledErrors) {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 }
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state !== 'pending') counts[state] += 1
      }
      counts.failed += failuresOutsideTests(module)
    }
    const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''
    process.stdout.write(`\n${counts.passed} passed, ${counts.failed} failed${skipped}\n`)
  },
}

/** A file that does not load, or a suite whose set-up throws, fails without a failing test. */
function failuresOutsideTests(module: TestModule): number {
  let failures = module.errors().length
  for (const suite of module.children.allSuites()) failures += suite.errors().length
  return failures
}

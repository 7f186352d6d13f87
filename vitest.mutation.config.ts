import { defineConfig } from 'vitest/config'
import { base } from './vitest.config.ts'

/**
 * The tests that judge mutants: those that MUTATION_TESTS names below test/, with commas, less those that would take
 * hours for all the mutants. What other tests alone would notice counts as unnoticed.
 */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    isolate: true, // a mutant in what a module does when it is loaded counts only if the module is loaded again
    include: (process.env.MUTATION_TESTS ?? '{protocol,store,receiver}/**/*')
      .split(',')
      .map((name) => `test/${name}.test.ts`),
    exclude: ['receiver/properties', 'client/every-dialect', 'client/load', 'check/reference', 'cli/examples'].map(
      (name) => `test/${name}.test.ts`,
    ),
    // A mutant that keeps a test waiting is noticed sooner.
    testTimeout: 60_000,
    expect: { poll: { timeout: 5_000 } },
    reporters: ['dot'],
  },
})

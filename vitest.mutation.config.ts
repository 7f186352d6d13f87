import { defineConfig } from 'vitest/config'
import { base } from './vitest.config.ts'

/** The tests that judge the faults that Stryker plants, without those that would take hours for all of them. */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    isolate: true, // a mutant in what a module does when it is loaded counts only if the module is loaded again
    include: ['test/{protocol,store,receiver}/**/*.test.ts', 'test/adapters/http/{body,ends,node}.test.ts'],
    // A mutant that keeps a test waiting is noticed sooner.
    testTimeout: 60_000,
    expect: { poll: { timeout: 5_000 } },
    reporters: ['dot'],
  },
})

import { defineConfig } from 'vitest/config'
import { base } from './vitest.config.ts'

/** Properties that run for a minute each; LONG_SECONDS changes that. */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: ['test/long/**/*.property.ts'],
    testTimeout: 3_600_000,
    disableConsoleIntercept: true,
  },
})

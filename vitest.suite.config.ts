import { configDefaults, defineConfig } from 'vitest/config'
import { base } from './vitest.config.ts'

/**
 * The suite without what starts programs of its own, which would judge those, and without the simulation, some of whose planted faults leave
 * rejections behind; with INSIDE_STORAGE=1, each test in an AsyncLocalStorage.
 */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: ['test/**/*.test.ts'],
    exclude: [
      ...configDefaults.exclude,
      'test/examples/**',
      'test/proofs/simulation/simulation.test.ts',
      'test/docs.test.ts',
      'test/package.test.ts',
      'test/types/**',
    ],
    setupFiles: process.env.INSIDE_STORAGE === '1' ? ['test/proofs/long/inside-storage.ts'] : [],
  },
})

import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { closingLine } from './scripts/closing-line.ts'
import { entries } from './scripts/entries.ts'
import { progress } from './scripts/progress.ts'

const alias = Object.entries(entries).map(([name, file]) => ({
  find: name === 'index' ? /^postern$/ : new RegExp(`^postern/${name}$`),
  replacement: fileURLToPath(new URL(file, import.meta.url)),
}))

// Type tests (test/types) are not run here: `tsc --noEmit` in the check judges their @ts-expect-error lines.
export default defineConfig({
  resolve: { alias },
  test: {
    include: ['test/**/*.test.ts'],
    // Without a terminal: failures only, and what tests print.
    reporters: [process.stdout.isTTY ? 'default' : ['minimal', { silent: false }], progress(), closingLine],
    pool: 'forks',
    // A process runs many files, and loads each module once: otherwise a third of the time would go into loading.
    isolate: false,
    restoreMocks: true,
    unstubEnvs: true,
    unstubGlobals: true,
    // Most tests wait: for processes, for leases to end, for engines that are away.
    maxWorkers: 6,
    maxConcurrency: 12,
    testTimeout: 20_000,
    hookTimeout: 20_000,
    expect: { poll: { timeout: 15_000 } }, // a slow machine is no failure
    coverage: { provider: 'v8', include: ['src/**/*.ts', 'adapters/**/*.ts'] },
  },
})

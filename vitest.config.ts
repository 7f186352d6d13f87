import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { closingLine } from './scripts/closing-line.ts'
import { entries } from './scripts/entries.ts'
import { progress } from './scripts/progress.ts'

/**
 * The tests that need more than this repository's source in one process: an engine, a browser, a shell, another language, the built or packed
 * package, child processes; and the simulation, the walked guides and whole runs of the checker, which take long. `npm test` leaves them to `npm run test:all`.
 */
const WITH_PROGRAMS = [
  'adapters/foreign-payloads',
  'adapters/http/{closing,early-answers,middleware,process,shutdown,types}',
  'adapters/{inbox,queues}/**/*',
  'adapters/stores/{postgres,redis}/**/*',
  'adapters/stores/sqlite/{contract,inbox-outage}',
  'bundles',
  'check/{false-findings,late-findings,probe-command,reference,repro}',
  'cli/{examples,inbox-program,inbox-servers,program,replay-program}',
  'client/aborted-call',
  'docs',
  'examples/**/*',
  'installs',
  'inspector/{again,firefox,inbox,live,outcome,page,page-actions,page-trouble,reading}',
  'otel/docs',
  'package{,-types}',
  'proofs/**/*',
  'release',
  '{inbox,store}/every-sequence',
  'types/{compiler,editor}',
  'walks',
].map((name) => `test/${name}.test.ts`)

const alias = Object.entries(entries).map(([name, file]) => ({
  find: name === 'index' ? /^postern$/ : new RegExp(`^postern/${name}$`),
  replacement: fileURLToPath(new URL(file, import.meta.url)),
}))

/** What all configurations share. Type tests (test/types) are not run: the compilers judge their @ts-expect-error lines. */
export const base = defineConfig({
  resolve: { alias },
  test: {
    // Without a terminal: failures only, and what tests print.
    reporters: [process.stdout.isTTY ? 'default' : ['minimal', { silent: false }], progress(), closingLine],
    pool: 'forks',
    // A process runs many files, and loads each module once: otherwise a third of the time would go into loading.
    isolate: false,
    restoreMocks: true,
    unstubEnvs: true,
    unstubGlobals: true,
    maxConcurrency: 12,
    // A limit ends what hangs. No test may fail because the machine is slow.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
    coverage: { provider: 'v8', include: ['{src,adapters,tools}/**/*.ts'] },
  },
})

export default defineConfig({
  ...base,
  test: {
    ...base.test,
    projects: [
      {
        extends: true,
        test: {
          name: 'behaviour',
          include: ['test/**/*.test.ts'],
          exclude: WITH_PROGRAMS,
          maxWorkers: 3,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'programs',
          include: WITH_PROGRAMS,
          // Builds, installs and browsers take minutes on a busy machine.
          testTimeout: 600_000,
          hookTimeout: 600_000,
          // Most of these tests wait: for processes, for leases to end, for engines that are away.
          maxWorkers: 4,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})

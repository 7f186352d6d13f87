import { entries } from './scripts/entries.ts'

const config = {
  entry: [
    ...Object.values(entries),
    'examples/*/main.ts',
    'scripts/better-sqlite3.mjs',
    'scripts/check-english.mjs',
    'scripts/check-page.ts',
    'scripts/record-start.ts',
    'scripts/draw-pictures.ts',
    'scripts/screenshots.ts',
    'scripts/release/*.mjs',
    'tools/inspector/main.tsx',
    'tools/cli/start.ts',
    'test/support/bundled-app.mjs',
    'test/check/reference/*.mjs',
    'scripts/runtimes/app/*.js',
    'test/types/**/*.test-d.ts',
    'test/proofs/long/*.ts',
    'test/proofs/simulation/batch-worker.ts',
    'vitest.*.config.ts',
  ],
  ignore: ['examples/next/**', 'bench/**'], // packages of their own
  ignoreBinaries: ['redis-server', 'script', 'mount', 'umount', 'mkfifo'], // an engine, and the system's own: no packages
  ignoreDependencies: [
    'typescript7', // scripts/check.ts starts it, and a test the next by its path
    'typescript5.0',
    '@arethetypeswrong/cli', // a test starts this and the next by the names of their binaries
    'publint',
    'vite-node', // a test starts it by the name of its binary
    'libsql', // the store finds the drivers of SQLite by their names
    'rollup', // test/bundles.test.ts links this and its plugins into the app that it bundles
    '@rollup/*',
    'axe-core', // the test of the inspector reads its file into the page
  ],
}

export default config

import type { KnipConfig } from 'knip'
import { entries } from './scripts/entries.ts'

const config: KnipConfig = {
  entry: [
    ...Object.values(entries),
    'examples/*/main.ts',
    'scripts/runtimes/app/*.js',
    'test/types/**/*.test-d.ts',
    'test/long/*.ts',
    'vitest.*.config.ts',
  ],
  ignore: ['examples/next/**', 'bench/**'], // packages of their own
  ignoreDependencies: ['@arethetypeswrong/cli', 'publint'], // scripts/check.mjs starts them by the names of their binaries
}

export default config

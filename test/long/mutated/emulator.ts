import type { TestsByFile } from './tests-by-file.ts'

/** Tests of the files of the emulator. */
export const EMULATOR_TESTS: TestsByFile = {}

import type { TestsByFile } from './tests-by-file.ts'

/** Tests of the files of the checker. */
export const CHECK_TESTS: TestsByFile = {}

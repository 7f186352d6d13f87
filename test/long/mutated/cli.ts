import type { TestsByFile } from './tests-by-file.ts'

/** Tests of the files of the command line. */
export const CLI_TESTS: TestsByFile = {}

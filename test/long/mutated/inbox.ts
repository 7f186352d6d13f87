import type { TestsByFile } from './tests-by-file.ts'

/** Tests of the files of the inbox. */
export const INBOX_TESTS: TestsByFile = {}

import type { TestsByFile } from './tests-by-file.ts'

/** Tests of the files of wire. */
export const WIRE_TESTS: TestsByFile = {}

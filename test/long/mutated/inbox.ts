import type { TestsByFile } from './tests-by-file.ts'

/** Tests of the files of the inbox. */
export const INBOX_TESTS: TestsByFile = {
  poll: ['poll-rules'],
  retries: ['retries'],
  settle: ['settle'],
  steer: ['steer'],
  worker: ['worker'],
}

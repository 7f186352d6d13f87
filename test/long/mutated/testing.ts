import type { TestsByFile } from './tests-by-file.ts'

/** Tests of the files of the test kit. */
export const TESTING_TESTS: TestsByFile = {
  attempt: ['sender', 'targets'],
  events: ['events'],
  matchers: ['matchers'],
  recorder: ['recorder'],
  sender: ['sender', 'matchers'],
  signed: ['signed', 'sender'],
  'test-receiver': ['recorder'],
}

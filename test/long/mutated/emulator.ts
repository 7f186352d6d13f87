import type { TestsByFile } from './tests-by-file.ts'

/** Tests of the files of the emulator. */
export const EMULATOR_TESTS: TestsByFile = {
  accounts: ['accounts'],
  addresses: ['addresses'],
  'check-input': ['check-input'],
  'database-trouble': ['database-trouble'],
  'delivery-log': ['delivery-log'],
  'due-queue': ['due-queue'],
  faults: ['faults'],
  feed: ['feed'],
  random: ['random', 'faults'],
  'rate-limit': ['rate-limit'],
  records: ['records'],
  refusal: ['refusal-answer'],
  'refusal-answer': ['refusal-answer'],
  signing: ['signing'],
  subscription: ['subscription'],
}

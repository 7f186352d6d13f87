import type { TestsByFile } from './tests-by-file.ts'

/** Tests of the files of the client. */
export const CLIENT_TESTS: TestsByFile = {
  'create-client': ['webhooks', 'options', 'lists', 'calls'],
  'ensure-webhook': ['ensure-webhook'],
  failures: ['refusals', 'calls', 'login'],
  'find-drift': ['find-drift'],
  'rate-gate': ['rate-gate', 'rate-limit'],
  'read-pages': ['lists'],
  records: ['lists', 'webhooks', 'secrecy'],
  redactor: ['redactor', 'secrecy'],
  registrations: ['ensure-webhook', 'rotate-webhook'],
  'replay-failed': ['replay-failed'],
  'replay-journal': ['replay-failed'],
  'replay-plan': ['replay-failed'],
  'rotate-webhook': ['rotate-webhook'],
  'service-error': ['refusals', 'calls', 'secrecy'],
  session: ['login', 'signals', 'calls'],
  settings: ['options'],
  sleep: ['sleep', 'signals'],
  transport: ['calls', 'login', 'refusals', 'signals', 'rate-limit', 'lists'],
}

import type { TestsByFile } from './tests-by-file.ts'

/** Tests of the files of the client. */
export const CLIENT_TESTS: TestsByFile = {
  'create-client': ['webhooks', 'options', 'lists', 'calls'],
  'ensure-webhook': ['ensure-webhook'],
  failures: ['refusals', 'calls', 'login'],
  'find-drift': ['find-drift'],
  'find-entry': ['lists', 'webhooks'],
  'next-page': ['lists'],
  'rate-gate': ['rate-gate', 'rate-limit'],
  'rate-headers': ['rate-headers'],
  'read-body': ['read-body', 'calls'],
  'read-pages': ['lists'],
  records: ['lists', 'webhooks', 'secrecy'],
  redactor: ['redactor', 'secrecy'],
  registrations: ['ensure-webhook', 'rotate-webhook', 'rotate-at-once'],
  'replay-failed': ['replay-failed'],
  'replay-journal': ['replay-failed'],
  'replay-plan': ['replay-plan', 'replay-failed'],
  'rotate-webhook': ['rotate-webhook', 'rotate-at-once'],
  'service-error': ['refusals', 'calls', 'secrecy'],
  session: ['login', 'signals', 'calls'],
  settings: ['options'],
  sleep: ['sleep', 'signals'],
  'token-lifetime': ['token-lifetime', 'login'],
  transport: ['calls', 'login', 'refusals', 'signals', 'rate-limit', 'lists'],
}

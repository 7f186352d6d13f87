import type { TestsByFile } from './tests-by-file.ts'

/** Tests of the files of wire. */
export const WIRE_TESTS: TestsByFile = {
  'code-word': ['code-word'],
  'connection-failure': ['connection-failure'],
  exchange: ['exchange'],
  'find-hint': ['find-hint'],
  'json-forms': ['json-forms'],
  nearest: ['nearest'],
  samples: ['samples'],
  'signature-name': ['samples'],
  'signature-mistakes': ['signature-mistakes'],
  signings: ['signature-mistakes'],
  target: ['target'],
}

import type { TestsByFile } from './tests-by-file.ts'

/** Tests of the files of the checker. */
export const CHECK_TESTS: TestsByFile = {
  'cases/bytes': ['sends', 'check/alone/bytes'],
  'cases/signature-forms': ['sends', 'answers', 'check/alone/signature-forms'],
  'cases/time': ['sends', 'check/alone/time'],
  forgery: ['maker'],
  'format-report': ['report'],
  maker: ['maker'],
  report: ['report'],
  repro: ['curl-line'],
  verdict: ['verdict'],
}

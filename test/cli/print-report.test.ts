import { stripVTControlCharacters } from 'node:util'
import { expect, it } from 'vitest'
import type { CheckResult, Diagnosis, Report } from '../../src/check/check.ts'
import { printReport } from '../../src/cli/output/print-report.ts'

const check = (id: string, status: CheckResult['status']): CheckResult => ({
  id,
  status,
  group: 'reach',
  level: 'fail',
  ms: 1,
  sent: 'a delivery',
  expected: '200',
  reason: 'came 500',
  why: 'it must',
  hint: 'mend it',
  doc: 'npx postern check --explain x',
  repro: 'curl',
})

const DIAGNOSIS: Diagnosis = { code: 'refused', text: 'It refuses everything.', follows: ['late'] }
const summary = { pass: 1, fail: 1, warn: 1, info: 1, skipped: 1 }
const checks = [check('late', 'fail'), check('good', 'pass'), check('careful', 'warn'), check('note', 'info')]
const REPORT: Report = {
  ...{ schema: 1, tool: 'postern', target: 'http://localhost/', startedAt: '2025-01-01T00:00:00Z', isReachable: true },
  ...{ summary, checks: [...checks, check('left', 'skipped')] },
}
const PLAIN = { isColoured: false, all: false }

it('lists the failures first, and details of failures and warnings only', () => {
  const text = printReport(REPORT, PLAIN)
  const words = ['fail    late', 'warn    careful', 'info    note', 'skipped left', 'pass    good']
  expect(text.match(/^\w+ +\w+ +came 500$/gm)).toEqual(words.map((word) => `${word.padEnd(36)} came 500`))
  expect(text.match(/^ {10}hint: mend it$/gm)).toHaveLength(2)
  expect(text).toMatch(/^fail {4}late .*\n {10}\S/)
  expect(text).toMatch(
    /came 500\n\nhttp:\/\/localhost\/: 1 failed, 1 warning, 1 passed, 1 for information, 1 skipped\n$/,
  )
})

it('begins with the diagnosis, and leaves out what follows from it unless all is asked for', () => {
  const report = { ...REPORT, diagnosis: DIAGNOSIS }
  const folded = printReport(report, PLAIN)
  expect(folded).toMatch(/^It refuses everything\.\n1 check follows from this; --all shows them\n\nwarn /)
  expect(folded).not.toContain('late')
  expect(printReport(report, { ...PLAIN, all: true })).toMatch(/^It refuses everything\.\n\nfail {4}late /)
  const alone = printReport({ ...REPORT, diagnosis: { ...DIAGNOSIS, follows: [] } }, PLAIN)
  expect(alone).toMatch(/^It refuses everything\.\n\nfail {4}late /)
})

it('has the same text if it is coloured', () => {
  const report = { ...REPORT, diagnosis: DIAGNOSIS }
  expect(printReport(report, PLAIN)).not.toContain('\u001b')
  expect(stripVTControlCharacters(printReport(report, { ...PLAIN, isColoured: true }))).toBe(printReport(report, PLAIN))
})

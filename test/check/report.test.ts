import { type CheckResult, formatReport, type Report } from 'postern/check'
import { describe, expect, it } from 'vitest'
import { showFollowing, showSummary, sortByStatus, summarize } from '../../src/check/report.ts'

const toResult = (status: CheckResult['status'], changes: Partial<CheckResult> = {}): CheckResult => ({
  ...{ id: `is-${status}`, group: 'reach', level: 'fail', status, ms: 1_500, sent: 'A | B', expected: '2xx' },
  ...{ reason: 'one|two\nthree', why: 'Why.', hint: 'Hint.', doc: 'doc', repro: 'curl' },
  ...changes,
})

const CHECKS = (['pass', 'skipped', 'info', 'warn', 'fail', 'fail'] as const).map((status, at) =>
  toResult(status, at === 5 ? { id: 'other', group: 'load' } : {}),
)

const REPORT: Report = {
  ...{ schema: 1, tool: 'postern', target: 'http://localhost:3000/webhooks', startedAt: '2025-01-01T00:00:00.000Z' },
  ...{ isReachable: true, summary: summarize(CHECKS), checks: CHECKS },
}

describe('a report', () => {
  it('counts each status, and describes it in words', () => {
    expect(REPORT.summary).toEqual({ pass: 1, fail: 2, warn: 1, info: 1, skipped: 1 })
    expect(showSummary(REPORT.summary)).toBe('2 failed, 1 warning, 1 passed, 1 for information, 1 skipped')
    expect(showSummary({ pass: 0, fail: 0, warn: 2, info: 0, skipped: 0 })).toBe('0 failed, 2 warnings, 0 passed')
  })

  it('lists failures first and passes last', () => {
    expect(sortByStatus(CHECKS).map(({ status }) => status)).toEqual([
      'fail',
      'fail',
      'warn',
      'info',
      'skipped',
      'pass',
    ])
  })

  it.each([
    [1, '1 check follows from this'],
    [2, '2 checks follow from this'],
  ])('reports that %d follow', (count, text) => {
    expect(showFollowing({ code: 'refused', text: '', follows: Array(count).fill('id') })).toBe(text)
  })

  it('is JUnit that counts each suite by itself', () => {
    const junit = formatReport(REPORT, 'junit')
    expect(junit).toContain('<testsuite name="reach" tests="5" failures="1" skipped="1" time="7.500"')
    expect(junit).toContain('<testsuite name="load" tests="1" failures="1" skipped="0" time="1.500"')
    expect(junit).toContain('<testcase name="is-pass" classname="postern.check.reach" time="1.500"></testcase>')
    expect(junit).toContain('<system-out>one|two\nthree</system-out>')
    expect(junit).toContain('<system-out>warning: one|two\nthree\nsent: A | B')
    expect(junit).not.toContain('name="bytes"')
  })

  it('is Markdown whose cells hold no bar and no line break', () => {
    const markdown = formatReport(REPORT, 'markdown')
    expect(markdown).toContain('| fail | `is-fail` | A \\| B | one\\|two three |')
    expect(markdown).not.toContain('is-pass')
  })
})

import { type CheckResult, formatReport, type Report } from 'postern/check'
import { describe, expect, it } from 'vitest'
import { listOwn, summarize } from '../../tools/check/report.ts'

const toResult = (status: CheckResult['status'], changes: Partial<CheckResult> = {}): CheckResult => ({
  id: `is-${status}`,
  group: 'reach',
  level: 'fail',
  status,
  ms: 1_500,
  sent: 'A | B',
  expected: '2xx',
  reason: 'one|two\nthree',
  why: 'Why.',
  hint: 'Hint.',
  doc: 'doc',
  repro: 'curl',
  ...changes,
})

const CHECKS = (['pass', 'skipped', 'info', 'warn', 'fail', 'fail'] as const).map((status, at) =>
  toResult(status, at === 5 ? { id: 'other', group: 'load' } : {}),
)

const REPORT: Report = {
  schema: 1,
  tool: 'postern',
  target: 'http://localhost:3000/webhooks',
  startedAt: '2025-01-01T00:00:00.000Z',
  isReachable: true,
  summary: summarize(CHECKS),
  unchecked: [{ code: 'crash', text: 'A <crash>.' }],
  checks: CHECKS,
}

describe('a report', () => {
  it('is JUnit of this form', () => {
    const failed = toResult('fail', { reason: '<"x" & y>\r\u0000\ufffe\ttab' })
    const load = [toResult('skipped', { group: 'load', ms: 25 }), toResult('pass', { group: 'load' })]
    const checks = [failed, toResult('info'), ...load]
    const junit = formatReport({ ...REPORT, checks }, 'junit')
    const suite = 'timestamp="2025-01-01T00:00:00.000Z" hostname="localhost"'
    const reason = '&lt;&quot;x&quot; &amp; y&gt;\ufffd\ufffd\ufffd\ttab'
    expect(junit.split('\n')).toEqual([
      '<?xml version="1.0" encoding="UTF-8"?>',
      '<testsuites name="postern check">',
      `  <testsuite name="reach" tests="2" failures="1" skipped="0" time="3.000" ${suite}>`,
      `    <testcase name="is-fail" classname="postern.check.reach" time="1.500"><failure message="${reason}">sent: A | B`,
      ...['expected: 2xx', `came back: ${reason}`, 'why: Why.', 'hint: Hint.', 'explained: doc'],
      'again: curl</failure></testcase>',
      '    <testcase name="is-info" classname="postern.check.reach" time="1.500"><system-out>one|two',
      'three</system-out></testcase>',
      '  </testsuite>',
      `  <testsuite name="load" tests="2" failures="0" skipped="1" time="1.525" ${suite}>`,
      '    <testcase name="is-skipped" classname="postern.check.load" time="0.025"><skipped message="one|two',
      'three"/></testcase>',
      '    <testcase name="is-pass" classname="postern.check.load" time="1.500"></testcase>',
      '  </testsuite>',
      `  <testsuite name="unchecked" tests="1" failures="0" skipped="1" time="0.000" ${suite}>`,
      '    <testcase name="crash" classname="postern.check.unchecked" time="0.000"><skipped message="A &lt;crash&gt;."/></testcase>',
      '  </testsuite>',
      '</testsuites>',
      '',
    ])
  })

  it('is Markdown of this form', () => {
    const checks = [
      toResult('pass'),
      toResult('warn'),
      toResult('fail', { why: '<b> *[x]* a_b', reason: '401', repro: 'curl "\\/_<x>*"' }),
    ]
    const report: Report = { ...REPORT, target: 'http://localhost/`x`', summary: summarize(checks), checks }
    expect(formatReport(report, 'markdown').split('\n')).toEqual([
      ...['## postern check', ''],
      ...['`http://localhost/%60x%60`: 1 failed, 1 warning, 1 passed', ''],
      ...['| status | check | sent | came back |', '|---|---|---|---|'],
      '| fail | `is-fail` | A \\| B | 401 |',
      ...['| warn | `is-warn` | A \\| B | one\\|two three |', ''],
      ...['### is-fail', '', 'sent: A | B', '', 'expected: 2xx', '', 'came back: 401', ''],
      ...['why: \\<b\\> \\*\\[x\\]\\* a\\_b', '', 'hint: Hint.', ''],
      ...['explained: `doc`', '', 'again:', '', '```sh', 'curl "\\/_<x>*"', '```', ''],
      ...['', 'Not checked:', '', '- A \\<crash\\>.', ''],
    ])
    const sound: Report = { ...REPORT, summary: summarize([]), checks: [toResult('pass')] }
    expect(formatReport(sound, 'markdown')).toBe(
      '## postern check\n\n`http://localhost:3000/webhooks`: 0 failed, 0 warnings, 0 passed\n\nNot checked:\n\n- A \\<crash\\>.\n',
    )
  })
})

describe('a report with a diagnosis', () => {
  const checks = [
    toResult('fail', { id: 'accepts-valid', reason: '401' }),
    toResult('fail', { id: 'late-retry' }),
    toResult('warn', { id: 'id-long', reason: '401' }),
    toResult('fail', { id: 'own' }),
  ]
  const withDiagnosis = (
    code: 'refused' | 'ended' | 'no_answer' | 'put_off' | 'side_by_side',
    follows: readonly string[],
  ): Report => ({
    ...REPORT,
    checks,
    summary: summarize(checks),
    diagnosis: { code, text: 'It has *another* secret.', follows },
  })
  const report = withDiagnosis('refused', ['late-retry', 'id-long'])

  it('lists only the checks that do not follow from it', () => {
    expect(listOwn(report).map(({ id }) => id)).toEqual(['accepts-valid', 'own'])
    expect(listOwn({ ...REPORT, checks })).toEqual(checks)
  })

  it('names it first in Markdown, with what follows, and tells the rest by itself', () => {
    const markdown = formatReport(report, 'markdown')
    const told = '**It has \\*another\\* secret.**\n\n2 checks follow from this: `late-retry`, `id-long`.\n\n| status |'
    expect(markdown).toContain(`3 failed, 1 warning, 0 passed\n\n${told}`)
    expect(markdown.match(/^###? .*$/gm)).toEqual(['## postern check', '### accepts-valid', '### own'])
    expect(formatReport(withDiagnosis('refused', []), 'markdown')).toContain(
      '**It has \\*another\\* secret.**\n\n| status |',
    )
  })

  it('stands at the refused delivery in JUnit, and the others point to it', () => {
    const junit = formatReport(report, 'junit')
    expect(junit).toContain('<failure message="401">It has *another* secret.\nsent: A | B')
    expect(junit.match(/It has/g)).toHaveLength(1)
    expect(junit).toContain('three">follows from accepts-valid</failure>')
    expect(junit).toContain('<system-out>warning: 401\nfollows from accepts-valid</system-out>')
    expect(junit).toContain('<testcase name="own" classname="postern.check.reach" time="1.500"><failure')
    const passed = { ...report, checks: [toResult('pass', { id: 'accepts-valid' }), toResult('fail')] }
    expect(formatReport(passed, 'junit')).not.toContain('It has')
  })

  it('stands at each check that found the process ended, in JUnit', () => {
    const junit = formatReport(withDiagnosis('ended', ['late-retry']), 'junit')
    expect(junit).toContain('three">It has *another* secret.</failure>')
    expect(junit).not.toContain('follows from')
    expect(junit).not.toContain('name="diagnosis"')
  })

  it.each(['ended', 'no_answer', 'put_off', 'side_by_side'] as const)(
    'is a failure of its own in JUnit if it is %s and no check failed',
    (code) => {
      const passed = [toResult('pass'), toResult('warn')]
      const down = { ...withDiagnosis(code, []), checks: passed, summary: summarize(passed) }
      const junit = formatReport(down, 'junit')
      expect(junit).toContain('<testsuite name="diagnosis" tests="1" failures="1" skipped="0"')
      expect(junit).toContain(`<testcase name="${code}" classname="postern.check.diagnosis" time="0.000"><failure`)
      expect(junit.match(/It has/g)).toHaveLength(1)
    },
  )
})

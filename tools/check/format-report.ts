import { type Kind, OptionChecker, oneOf } from '../../src/protocol/option-checker.ts'
import { GROUPS } from './case.ts'
import {
  type CheckResult,
  type Diagnosis,
  LATE,
  listOwn,
  type Report,
  showFollowing,
  showSummary,
  sortByStatus,
  summarize,
} from './report.ts'

/** Format of a report: JUnit is XML with a suite for each group, Markdown is for pull requests. */
export type ReportFormat = 'json' | 'junit' | 'markdown'

/**
 * Writes a report as text, for a file.
 *
 * @throws ConfigurationError `option_invalid`
 */
export function formatReport(report: Report, format: ReportFormat): string {
  const check = new OptionChecker('formatReport')
  check.mustBe('report', report, REPORT)
  check.mustBe('format', format, oneOf(Object.keys(FORMATS)))
  return FORMATS[format](report)
}

const REPORT: Kind = (value) => (Array.isArray(Object(value).checks) ? undefined : 'the report of checkReceiver()')

const FORMATS: Readonly<Record<ReportFormat, (report: Report) => string>> = {
  json: (report) => `${JSON.stringify(report, null, 2)}\n`,
  junit: toJunit,
  markdown: toMarkdown,
}

function toJunit(report: Report): string {
  const { checks, diagnosis, startedAt, summary, target } = report
  const place = `timestamp="${startedAt}" hostname="${escapeXml(new URL(target).hostname)}"`
  const toSuite = (counts: string, cases: readonly string[]) =>
    [`  <testsuite ${counts} ${place}>`, ...cases, '  </testsuite>'].join('\n')
  const suites = GROUPS.map((group) => ({ group, own: checks.filter((check) => check.group === group) }))
    .filter(({ own }) => own.length > 0)
    .map(({ group, own }) => {
      const { fail, skipped } = summarize(own)
      const time = seconds(own.reduce((sum, { ms }) => sum + ms, 0))
      return toSuite(
        `name="${group}" tests="${own.length}" failures="${fail}" skipped="${skipped}" time="${time}"`,
        own.map((check) => toTestCase(check, report)),
      )
    })
  const untested = report.unchecked.map(
    ({ code, text }) =>
      `    <testcase name="${code}" classname="postern.check.unchecked" time="0.000"><skipped message="${escapeXml(text)}"/></testcase>`,
  )
  const count = untested.length
  suites.push(toSuite(`name="unchecked" tests="${count}" failures="0" skipped="${count}" time="0.000"`, untested))
  // If no check failed, as when those that would have were skipped: the exit code is 1 then.
  if (diagnosis !== undefined && summary.fail === 0) {
    const failure = `<failure message="${escapeXml(diagnosis.text)}"/>`
    const testCase = `    <testcase name="${diagnosis.code}" classname="postern.check.diagnosis" time="0.000">${failure}</testcase>`
    suites.push(toSuite('name="diagnosis" tests="1" failures="1" skipped="0" time="0.000"', [testCase]))
  }
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="postern check">\n${suites.join('\n')}\n</testsuites>\n`
}

function toTestCase(check: CheckResult, { diagnosis }: Report): string {
  const { id, group, status, ms, reason } = check
  const isFollowing = diagnosis?.follows.includes(id) === true
  const head = id === 'accepts-valid' && status === 'fail' && diagnosis !== undefined ? [diagnosis.text] : []
  const cause = diagnosis !== undefined && LATE.includes(diagnosis.code) ? diagnosis.text : 'follows from accepts-valid'
  const detail = escapeXml(isFollowing ? cause : [...head, ...toDetail(check)].join('\n'))
  const inner = {
    pass: '',
    info: `<system-out>${escapeXml(reason)}</system-out>`,
    warn: `<system-out>warning: ${escapeXml(reason)}\n${detail}</system-out>`,
    skipped: `<skipped message="${escapeXml(reason)}"/>`,
    fail: `<failure message="${escapeXml(reason)}">${detail}</failure>`,
  }[status]
  return `    <testcase name="${id}" classname="postern.check.${group}" time="${seconds(ms)}">${inner}</testcase>`
}

function toMarkdown(report: Report): string {
  const { target, summary, diagnosis } = report
  const own = sortByStatus(listOwn(report))
  const rows = own
    .filter(({ status }) => status !== 'pass')
    .map(({ id, status, sent, reason }) => `| ${status} | \`${id}\` | ${escapeCell(sent)} | ${escapeCell(reason)} |`)
  const table = ['| status | check | sent | came back |', '|---|---|---|---|', ...rows].join('\n')
  const failures = own
    .filter(({ status }) => status === 'fail')
    .map((check) => `### ${check.id}\n\n${toSection(check)}\n`)
  const parts = [
    '## postern check',
    `\`${target.replaceAll('`', '%60')}\`: ${showSummary(summary)}`,
    ...(diagnosis === undefined ? [] : [toParagraph(diagnosis)]),
    ...(rows.length > 0 ? [table] : []),
    ...failures,
    ['Not checked:', '', ...report.unchecked.map(({ text }) => `- ${escapeText(text)}`)].join('\n'),
  ]
  return `${parts.join('\n\n').trimEnd()}\n`
}

/** Writes the details of a check. Its commands are code, so that nobody has to remove the marks of Markdown from them. */
function toSection(check: CheckResult): string {
  const again = `again:\n\n\`\`\`sh\n${check.repro}\n\`\`\``
  return [...toText(check).map(escapeText), `explained: \`${check.doc}\``, again].join('\n\n')
}

function toParagraph(diagnosis: Diagnosis): string {
  const { text, follows } = diagnosis
  const told = `**${escapeText(text)}**`
  return follows.length === 0
    ? told
    : `${told}\n\n${showFollowing(diagnosis)}: ${follows.map((id) => `\`${id}\``).join(', ')}.`
}

export function toDetail(check: CheckResult): readonly string[] {
  return [...toText(check), `explained: ${check.doc}`, `again: ${check.repro}`]
}

function toText({ sent, expected, reason, why, hint }: CheckResult): readonly string[] {
  return [`sent: ${sent}`, `expected: ${expected}`, `came back: ${reason}`, `why: ${why}`, `hint: ${hint}`]
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(3)
}

function escapeXml(text: string): string {
  const names: Readonly<Record<string, string>> = { '<': '&lt;', '>': '&gt;', '&': '&amp;', '"': '&quot;' }
  // XML cannot represent these characters, not even escaped.
  return text
    .replace(/[\ufffe\uffff]|[^\P{Cc}\n\t]/gu, '\ufffd')
    .replace(/[<>&"]/g, (character) => names[character] ?? '')
}

function escapeCell(text: string): string {
  return escapeText(text).replaceAll('|', '\\|').replaceAll('\n', ' ')
}

function escapeText(text: string): string {
  return text.replace(/[<>*_[\]]/g, (character) => `\\${character}`)
}

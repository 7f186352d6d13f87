import { styleText } from 'node:util'
import type { Report } from '../check/check.ts'
import { toDetail } from '../check/format-report.ts'
import { showSummary, sortByStatus } from '../check/report.ts'

const COLOURS = { pass: 'green', fail: 'red', warn: 'yellow', info: 'cyan', skipped: 'gray' } as const

/** A report for people: what failed first, with all that helps to find out why, and the passes as mere lines. */
export function printReport(report: Report, isColoured: boolean): string {
  const lines: string[] = []
  for (const check of sortByStatus(report.checks)) {
    const word = check.status.padEnd(7)
    const status = isColoured ? styleText(COLOURS[check.status], word) : word
    lines.push(`${status} ${check.id.padEnd(28)} ${check.reason}`)
    if (check.status === 'fail' || check.status === 'warn')
      lines.push(...toDetail(check).map((line) => `          ${line}`))
  }
  return `${lines.join('\n')}\n\n${report.target}: ${showSummary(report.summary)}\n`
}

import { styleText } from 'node:util'
import type { CheckResult, Report } from '../../check/check.ts'
import { toDetail } from '../../check/format-report.ts'
import { listOwn, showFollowing, showSummary, sortByStatus } from '../../check/report.ts'

const COLOURS = { pass: 'green', fail: 'red', warn: 'yellow', info: 'cyan', skipped: 'gray' } as const

interface PrintOptions {
  readonly isColoured: boolean
  /** True to print checks that follow from the diagnosis, too. */
  readonly all: boolean
}

/** A report for people: what failed first, with all that helps to find out why, and the passes as mere lines. */
export function printReport(report: Report, { isColoured, all }: PrintOptions): string {
  const { diagnosis, checks, target, summary } = report
  const lines: string[] = []
  if (diagnosis !== undefined) {
    lines.push(isColoured ? styleText('bold', diagnosis.text) : diagnosis.text)
    if (!all && diagnosis.follows.length > 0) lines.push(`${showFollowing(diagnosis)}; --all shows them`)
    lines.push('')
  }
  for (const check of sortByStatus(all ? checks : listOwn(report))) lines.push(...toLines(check, isColoured))
  return `${lines.join('\n')}\n\n${target}: ${showSummary(summary)}\n`
}

function toLines(check: CheckResult, isColoured: boolean): readonly string[] {
  const word = check.status.padEnd(7)
  const status = isColoured ? styleText(COLOURS[check.status], word) : word
  const line = `${status} ${check.id.padEnd(28)} ${check.reason}`
  if (check.status !== 'fail' && check.status !== 'warn') return [line]
  return [line, ...toDetail(check).map((text) => `          ${text}`)]
}

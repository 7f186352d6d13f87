import type { Report } from 'postern/check'
import { expect } from 'vitest'

/** Returns the ids of the checks with this status, and their messages. */
export function told(report: Report, ...statuses: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    report.checks.filter(({ status }) => statuses.includes(status)).map(({ id, reason }) => [id, reason]),
  )
}

/** Expects no failure and no warning. */
export function mustBeSound(report: Report): void {
  expect(told(report, 'fail', 'warn')).toEqual({})
}

import type { Report } from 'postern/check'
import { expect } from 'vitest'

/** Ids of the checks that came to this status, with what they say. */
export function told(report: Report, ...statuses: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    report.checks.filter(({ status }) => statuses.includes(status)).map(({ id, reason }) => [id, reason]),
  )
}

/** No failure and no warning. */
export function mustBeSound(report: Report): void {
  expect(told(report, 'fail', 'warn')).toEqual({})
}

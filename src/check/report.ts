import type { Group, Level, Status } from './case.ts'
import type { WRONG_FORMS } from './wrong-forms.ts'

/** What one check came to. */
export interface CheckResult {
  readonly id: string
  readonly group: Group
  /** The worst that it can come to. */
  readonly level: Level
  readonly status: Status
  readonly ms: number
  readonly sent: string
  readonly expected: string
  /** What came back. Never a body, a signature or a secret. */
  readonly reason: string
  readonly why: string
  readonly hint: string
  /** The command that prints the page of this check. */
  readonly doc: string
  /** A line for a shell that sends the same. */
  readonly repro: string
}

/** The one reason why a plain delivery is not accepted, or no longer is, and so why most checks fail. */
export interface Diagnosis {
  readonly code: DiagnosisCode
  /** What is wrong, and what to do about it. */
  readonly text: string
  /** Ids of the failures and warnings that follow from it. */
  readonly follows: readonly string[]
}

/** No receiver answers there, the one that does refuses everything or fails, or has a mistake that was found. */
type DiagnosisCode =
  | 'unreachable'
  | 'no_answer'
  | 'not_there'
  | 'not_taken'
  | 'redirect'
  | 'put_off'
  | 'refused'
  | 'event_refused'
  | 'server_error'
  | 'cut_off'
  | 'ended'
  | keyof typeof WRONG_FORMS

/** What a run came to. It can be written as JSON as it is. */
export interface Report {
  readonly schema: 1
  readonly tool: 'postern'
  /** Without a password, and without the values of its query. */
  readonly target: string
  /** ISO 8601. */
  readonly startedAt: string
  /** False where nothing answered at all. */
  readonly isReachable: boolean
  /** Only if a plain delivery is not accepted, or the receiver ended on the way. */
  readonly diagnosis?: Diagnosis
  readonly summary: Readonly<Record<Status, number>>
  readonly checks: readonly CheckResult[]
}

/** How often each status came. */
export function summarize(checks: readonly CheckResult[]): Report['summary'] {
  const summary = { pass: 0, fail: 0, warn: 0, info: 0, skipped: 0 }
  for (const { status } of checks) summary[status] += 1
  return summary
}

/** `3 failed, 1 warning, 40 passed, 5 skipped` */
export function showSummary({ fail, warn, info, pass, skipped }: Report['summary']): string {
  const parts = [`${fail} failed`, `${warn} ${warn === 1 ? 'warning' : 'warnings'}`, `${pass} passed`]
  if (info > 0) parts.push(`${info} for information`)
  if (skipped > 0) parts.push(`${skipped} skipped`)
  return parts.join(', ')
}

const ORDER: readonly Status[] = ['fail', 'warn', 'info', 'skipped', 'pass']

/** Failures first, passes last. */
export function sortByStatus(checks: readonly CheckResult[]): readonly CheckResult[] {
  return [...checks].sort((a, b) => ORDER.indexOf(a.status) - ORDER.indexOf(b.status))
}

/** The checks that are told one by one: not those that follow from the diagnosis. */
export function listOwn({ checks, diagnosis }: Report): readonly CheckResult[] {
  return checks.filter(({ id }) => diagnosis?.follows.includes(id) !== true)
}

/** `27 checks follow from this` */
export function showFollowing({ follows }: Diagnosis): string {
  return `${follows.length} ${follows.length === 1 ? 'check follows' : 'checks follow'} from this`
}

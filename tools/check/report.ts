import type { Cause, Group, Level, Status } from './case.ts'
import type { WrongFormCode } from './wrong-forms.ts'

/** Result of one check. */
export interface CheckResult {
  readonly id: string
  readonly group: Group
  /** Worst status that the check can have. */
  readonly level: Level
  readonly status: Status
  /** Code of a result that does not follow from the answers alone. */
  readonly cause?: Cause | undefined
  readonly ms: number
  readonly sent: string
  readonly expected: string
  /** Answer of the receiver in one line. Never holds a body, a signature or a secret. */
  readonly reason: string
  readonly why: string
  readonly hint: string
  /** Command that prints the page of this check. */
  readonly doc: string
  /** Shell command that sends the same delivery. */
  readonly repro: string
}

/** Reason why a plain delivery is not accepted, or no longer is, and therefore why many checks fail. */
export interface Diagnosis {
  readonly code: DiagnosisCode
  /** Describes the mistake and its fix. */
  readonly text: string
  /** Ids of the failures and warnings that follow from it, and of the checks that were left out since there is no receiver. */
  readonly follows: readonly string[]
}

/** Code of a diagnosis: no receiver answers, the receiver refuses everything or fails, or a known mistake was found. */
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
  | 'locked_out'
  | 'no_recovery'
  | LossCode
  | WrongFormCode

/** Code of a kind of deliveries that get lost. */
export type LossCode = 'no_more_work' | 'similar_ids' | 'first_part' | 'same_time' | 'side_by_side' | 'too_many'

/** Codes of a receiver that accepted a plain delivery at first, if there is a receiver. */
export const LATE: readonly DiagnosisCode[] = [
  ...(['ended', 'no_answer', 'put_off', 'locked_out', 'no_recovery'] as const),
  ...(['no_more_work', 'similar_ids', 'first_part', 'same_time', 'side_by_side', 'too_many'] as const),
]

/** Something that no check of this run has judged. */
export interface Unchecked {
  /** `work` and `skipped` depend on the run; the others stand in every report. */
  readonly code:
    | 'crash'
    | 'work'
    | 'skipped'
    | 'stored'
    | 'accounts'
    | 'tries'
    | 'processes'
    | 'bursts'
    | 'retention'
    | 'timing'
  readonly text: string
}

/** Result of a run. Serializes to JSON as it is. */
export interface Report {
  readonly schema: 1
  readonly tool: 'postern'
  /** URL without a password and without the values of its query. */
  readonly target: string
  /** Start of the run in ISO 8601. */
  readonly startedAt: string
  /** False if nothing answered at all. */
  readonly isReachable: boolean
  /**
   * Present only if a plain delivery is not accepted, if the receiver ended, hung, limited or refused requests during the run, or if one
   * cause explains several failures, such as deliveries that come side by side.
   */
  readonly diagnosis?: Diagnosis | undefined
  readonly summary: Readonly<Record<Status, number>>
  /** Gaps that a report without failures leaves, the most common loss first. */
  readonly unchecked: readonly Unchecked[]
  readonly checks: readonly CheckResult[]
}

export function summarize(checks: readonly CheckResult[]): Report['summary'] {
  const summary = { pass: 0, fail: 0, warn: 0, info: 0, skipped: 0 }
  for (const { status } of checks) summary[status] += 1
  return summary
}

/** Formats a summary: `3 failed, 1 warning, 40 passed, 5 skipped`. */
export function showSummary({ fail, warn, info, pass, skipped }: Report['summary']): string {
  const parts = [`${fail} failed`, `${warn} ${warn === 1 ? 'warning' : 'warnings'}`, `${pass} passed`]
  if (info > 0) parts.push(`${info} for information`)
  if (skipped > 0) parts.push(`${skipped} skipped`)
  return parts.join(', ')
}

const ORDER: readonly Status[] = ['fail', 'warn', 'info', 'skipped', 'pass']

export function sortByStatus(checks: readonly CheckResult[]): readonly CheckResult[] {
  return [...checks].sort((a, b) => ORDER.indexOf(a.status) - ORDER.indexOf(b.status))
}

/** Lists the checks to print one by one: without those that follow from the diagnosis. */
export function listOwn({ checks, diagnosis }: Report): readonly CheckResult[] {
  return checks.filter(({ id }) => diagnosis?.follows.includes(id) !== true)
}

/** Formats the number of checks that follow: `27 checks follow from this`. */
export function showFollowing({ follows }: Diagnosis): string {
  return `${follows.length} ${follows.length === 1 ? 'check follows' : 'checks follow'} from this`
}

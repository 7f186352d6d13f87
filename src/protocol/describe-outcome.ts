import type { Outcome, Rejected } from './outcome.ts'
import type { Issue } from './schema.ts'

const MAX_LOGGED_ISSUES = 10
const MAX_NAME_LENGTH = 64

/** Returns the message of a log line about an outcome that the owner should know of. */
export function describe(outcome: Outcome): string {
  switch (outcome.outcome) {
    case 'rejected':
      return `delivery refused: ${outcome.reason}`
    case 'late':
      return 'handlers still run at the deadline; the sender was told to come again'
    case 'overloaded':
      // Bodies are put off before anybody knows whose event they hold.
      return outcome.id === undefined
        ? 'delivery put off: unchecked bodies take maxBufferedBytes'
        : 'delivery put off: maxInFlight events are under way, or as many of its account as it may have'
    default:
      return outcome.outcome
  }
}

/** Returns the fields of a log line: who an outcome is about, and never a record, a secret or a signature. */
export function fieldsOf(outcome: Outcome, source: string | undefined): Readonly<Record<string, unknown>> {
  const { status, id, type, accountKey } = outcome
  return {
    ...(outcome.outcome === 'rejected' && { code: outcome.code }),
    status,
    id,
    type,
    accountKey,
    source,
    ...(outcome.joined && { joined: true }),
    ...(outcome.late && { late: true }),
    ...(outcome.outcome === 'rejected' && issueFields(outcome)),
  }
}

function issueFields({ issues }: Rejected): object | undefined {
  if (issues.length === 0) return undefined
  const names = namesOf(issues)
  return { issues: names, ...(issues.length > names.length && { moreIssues: issues.length - names.length }) }
}

/**
 * Returns the declared fields that issues are about, ten at most. Messages may quote the record, and the keys below a declared field may
 * be the sender's text.
 */
function namesOf(issues: readonly Issue[]): readonly string[] {
  const names = new Set<string>()
  for (const { path } of issues) {
    if (names.size === MAX_LOGGED_ISSUES) break
    const [first = ''] = path === 'data.record' ? [path] : path.split('.', 1)
    names.add(first.slice(0, MAX_NAME_LENGTH))
  }
  return [...names]
}

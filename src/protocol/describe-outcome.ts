import type { Outcome } from './outcome.ts'

/** Returns the message of a log line about an outcome that the owner should know of. */
export function describe(outcome: Outcome): string {
  switch (outcome.outcome) {
    case 'rejected':
      return `delivery refused: ${outcome.reason}${outcome.issues.length > 0 ? ' onOutcome gets the issues.' : ''}`
    case 'late':
      return 'handlers are still running at the deadline; the sender was told to retry'
    case 'overloaded':
      // Bodies are put off before it is known whose event they hold.
      return outcome.id === undefined
        ? 'delivery deferred: unchecked bodies use up maxBufferedBytes'
        : 'delivery deferred: maxInFlight events are running, or as many of its account as are allowed'
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
    ...(outcome.skipped && { skipped: outcome.skipped }),
    ...(outcome.joined && { joined: true }),
    ...(outcome.late && { late: true }),
    // Only how many: their messages quote the record, and their paths may be keys that the sender chose.
    ...(outcome.outcome === 'rejected' && outcome.issues.length > 0 && { issues: outcome.issues.length }),
  }
}

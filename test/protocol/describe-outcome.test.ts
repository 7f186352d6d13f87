import type { Outcome } from 'postern'
import { expect, it } from 'vitest'
import { describe as describeOutcome } from '../../src/protocol/describe-outcome.ts'

const rejected: Outcome = { outcome: 'rejected', status: 422, code: 'invalid_record', reason: 'Not so.', issues: [] }
const overloaded: Outcome = { outcome: 'overloaded', status: 503 }

it.each<[Outcome, string]>([
  [rejected, 'delivery refused: Not so.'],
  [{ ...rejected, issues: [{ path: 'a', message: 'b' }] }, 'delivery refused: Not so. onOutcome gets the issues.'],
  [overloaded, 'delivery put off: unchecked bodies take maxBufferedBytes'],
  [
    { ...overloaded, id: 'evt_1', type: 'contact.created', accountKey: 'acme' },
    'delivery put off: maxInFlight events are under way, or as many of its account as it may have',
  ],
  [{ outcome: 'closing', status: 503 }, 'closing'],
])('an outcome is described correctly: %j', (outcome, line) => expect(describeOutcome(outcome)).toBe(line))

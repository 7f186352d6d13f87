import type { Outcome } from 'postern'
import { expect, it } from 'vitest'
import { describe as describeOutcome } from '../../src/protocol/describe-outcome.ts'

const rejected: Outcome = { outcome: 'rejected', status: 422, code: 'invalid_record', reason: 'Not so.', issues: [] }
const overloaded: Outcome = { outcome: 'overloaded', status: 503 }

it.each<[Outcome, string]>([
  [rejected, 'delivery refused: Not so.'],
  [{ ...rejected, issues: [{ path: 'a', message: 'b' }] }, 'delivery refused: Not so. onOutcome gets the issues.'],
  [overloaded, 'delivery deferred: unchecked bodies use up maxBufferedBytes'],
  [
    { ...overloaded, id: 'evt_1', type: 'contact.created', accountKey: 'acme' },
    'delivery deferred: maxInFlight events are running, or as many of its account as are allowed',
  ],
  [{ outcome: 'closing', status: 503 }, 'closing'],
])('an outcome is described correctly: %j', (outcome, line) => expect(describeOutcome(outcome)).toBe(line))

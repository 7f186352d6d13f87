import { ATTEMPT_DELAYS_MS } from '../../protocol/schedule.ts'
import type { Case } from '../case.ts'
import { mustBeAccepted, shouldBeAccepted } from '../verdict.ts'

/** Of the last attempt: the delays and, at most, 10 s for each attempt before it. */
const LAST_ATTEMPT_MS = ATTEMPT_DELAYS_MS.reduce((sum, delay) => sum + delay, 0) + 100_000

/** Whether events are taken for as long as the service may send them. */
export const time: readonly Case[] = [
  {
    id: 'late-retry',
    level: 'fail',
    sends: 'An event whose timestamp is 2 h 37 min old.',
    expects: '2xx',
    why: 'The timestamp is that of the event. Attempts 3, 4 and 5 come 5 min 30 s, 35 min 30 s and 2 h 35 min 30 s after it; a tolerance of five minutes refuses all of them.',
    fix: 'Do not judge the timestamp, or allow three hours at least. Copies are told by their id.',
    deliver: (make) => make.delivery(make.event({ timestamp: new Date(Date.now() - LAST_ATTEMPT_MS).toISOString() })),
    judge: mustBeAccepted,
  },
  {
    id: 'timestamp-no-fraction',
    level: 'fail',
    sends: 'An event whose timestamp is in whole seconds: "2025-01-01T00:00:00Z".',
    expects: '2xx',
    why: 'The timestamp is ISO 8601, and how many digits of a second it has is not documented. Formats that are spelt out, such as "%S.%fZ", take only one form.',
    fix: 'Parse it by a function for ISO 8601, or keep it as text.',
    deliver: (make) => make.delivery(make.event({ timestamp: new Date().toISOString().replace(/\.\d+/, '') })),
    judge: mustBeAccepted,
  },
  {
    id: 'timestamp-offset',
    level: 'warn',
    sends: 'An event whose timestamp has an offset in place of the Z: "2025-01-01T02:00:00+02:00".',
    expects: '2xx; otherwise a warning.',
    why: 'The timestamp of an event is ISO 8601, and that it is in UTC is not documented.',
    fix: 'Parse it by a function for ISO 8601, or keep it as text.',
    deliver: (make) => make.delivery(make.event({ timestamp: toOffset(new Date()) })),
    judge: shouldBeAccepted,
  },
  {
    id: 'timestamp-ahead',
    level: 'warn',
    sends: 'An event whose timestamp is 5 s ahead.',
    expects: '2xx; otherwise a warning.',
    why: 'No two clocks agree. A receiver whose clock is behind the service by seconds refuses first attempts, and gets its events half a minute late.',
    fix: 'Do not judge the timestamp, or allow some minutes ahead.',
    deliver: (make) => make.delivery(make.event({ timestamp: new Date(Date.now() + 5_000).toISOString() })),
    judge: shouldBeAccepted,
  },
]

/** The time as a clock shows it that is two hours ahead of UTC. */
function toOffset(date: Date): string {
  return new Date(date.getTime() + 2 * 3_600_000).toISOString().replace('Z', '+02:00')
}

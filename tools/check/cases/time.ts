import { ATTEMPT_DELAYS_MS } from '../../../src/protocol/schedule.ts'
import type { Case } from '../case.ts'
import { MUST_BE_ACCEPTED, mustBeAccepted, SHOULD_BE_ACCEPTED } from '../verdict.ts'
import { judgeEach } from '../work.ts'

/** Age of an event at the last attempt: all delays, and at most 10 s for each attempt before it. */
export const LAST_ATTEMPT_MS: number = ATTEMPT_DELAYS_MS.reduce((sum, delay) => sum + delay, 0) + 100_000

const TWO_HOURS_MS = 7_200_000

const NO_AGE =
  'Do not refuse events by their age: a retry by hand, or `npx postern replay --since 24h`, can come days later. The signature shows that an event is genuine; detect duplicates by its id.'

export const fromNow = (ms: number) => new Date(Date.now() + ms).toISOString()

export const time: readonly Case[] = [
  {
    id: 'late-retry',
    ...MUST_BE_ACCEPTED,
    sends: 'An event whose timestamp is 2 h 37 min old.',
    why: 'The timestamp is the time of the event, not of the attempt. Attempts 3, 4 and 5 come 5 min 30 s, 35 min 30 s and 2 h 35 min 30 s after it; a tolerance of five minutes refuses all of them.',
    fix: NO_AGE,
    deliver: (make) => make.delivery(make.event({ timestamp: fromNow(-LAST_ATTEMPT_MS) })),
  },
  {
    id: 'late-replay',
    ...SHOULD_BE_ACCEPTED,
    sends: 'An event whose timestamp is two days old.',
    why: 'A person who retries a failed delivery, or replays a day after an outage, sends events of that age.',
    fix: NO_AGE,
    deliver: (make) => make.delivery(make.event({ timestamp: fromNow(-172_800_000) })),
  },
  {
    id: 'timestamp-no-fraction',
    ...MUST_BE_ACCEPTED,
    sends: 'An event whose timestamp is in whole seconds: "2025-01-01T00:00:00Z".',
    why: 'The timestamp is ISO 8601, and the service does not document how many fractional digits it has. A fixed format, such as "%S.%fZ", parses only one form.',
    fix: 'Parse it with a function for ISO 8601, or keep it as text.',
    deliver: (make) => make.delivery(make.event({ timestamp: fromNow(0).replace(/\.\d+/, '') })),
  },
  {
    id: 'timestamp-fractions',
    sends: 'Events whose timestamps have fractions of a second of 1, 2, 6, 7 and 9 digits.',
    expects: '2xx to each.',
    why: 'The timestamp is ISO 8601, and the service does not document how many fractional digits it has. "%S.%fZ" of Python takes six at most, some other functions only three or six.',
    fix: 'Parse it with a function for ISO 8601 that takes any number of digits, or keep it as text.',
    run: (scene) => {
      const seconds = fromNow(-1_000).slice(0, '2025-01-01T00:00:00'.length)
      const deliveries = [1, 2, 6, 7, 9].map((digits) => {
        const timestamp = `${seconds}.${'123456789'.slice(0, digits)}Z`
        return [`${digits} digits`, scene.make.delivery(scene.make.event({ timestamp }))] as const
      })
      return judgeEach(scene, deliveries, mustBeAccepted)
    },
  },
  {
    id: 'timestamp-offset',
    ...SHOULD_BE_ACCEPTED,
    sends: 'An event whose timestamp has an offset instead of the Z: "2025-01-01T02:00:00+02:00".',
    why: 'The timestamp of an event is ISO 8601, and the service does not document that it is in UTC.',
    fix: 'Parse it with a function for ISO 8601, or keep it as text.',
    deliver: (make) => make.delivery(make.event({ timestamp: fromNow(TWO_HOURS_MS).replace('Z', '+02:00') })),
  },
  {
    id: 'timestamp-ahead',
    ...SHOULD_BE_ACCEPTED,
    sends: 'An event whose timestamp is 5 s ahead.',
    why: 'No two clocks agree. A receiver whose clock is a few seconds behind that of the service refuses first attempts, and gets its events half a minute late.',
    fix: 'Do not check the timestamp, or allow it to be a few minutes ahead.',
    deliver: (make) => make.delivery(make.event({ timestamp: fromNow(5_000) })),
  },
]

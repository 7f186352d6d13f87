import type { PlantedFault } from './planted-fault.ts'

const SETTLE = 'src/inbox/settle.ts'

/** Faults of an event's fate after a try. */
export const FAULTS_OF_TRIES: readonly Omit<PlantedFault, 'theme'>[] = [
  {
    name: 'busy-counts',
    breaks: 'An event that another process is handling has failed, as if its handlers had.',
    from: 2,
    edits: [
      {
        file: SETTLE,
        find: "'busy') return comeAgain(rules.leaseMs)",
        replace: "'busy') return wait(rules.leaseMs, true)",
      },
    ],
  },
  {
    name: 'busy-asked-at-once',
    breaks: 'An event that another process is handling is taken again and again.',
    from: 2,
    edits: [
      { file: SETTLE, find: "'busy') return comeAgain(rules.leaseMs)", replace: "'busy') return comeAgain(100)" },
    ],
  },
  {
    name: 'store-away-counts',
    breaks: 'An outage of the store counts as a failed try.',
    from: 6,
    edits: [{ file: SETTLE, find: 'return comeAgain(SOON_MS)', replace: 'return wait(SOON_MS, true)' }],
  },
  {
    name: 'lost-lease-counts',
    breaks: 'A try whose claim another process took over counts as failed.',
    from: 190,
    edits: [
      {
        file: SETTLE,
        find: "outcome.code === 'lease_lost') return comeAgain(rules.leaseMs)",
        replace: "outcome.code === 'lease_lost') return wait(rules.leaseMs, true)",
      },
    ],
  },
  {
    name: 'closed-try-counts',
    breaks: 'What a closed worker gives back has failed.',
    from: 6,
    edits: [
      { file: SETTLE, find: "=== 'closing') return comeAgain(0)", replace: "=== 'closing') return wait(0, true)" },
    ],
  },
  {
    name: 'closed-try-put-off',
    breaks: 'What a closed worker gives back is tried only after a lease.',
    from: 6,
    edits: [
      {
        file: SETTLE,
        find: "=== 'closing') return comeAgain(0)",
        replace: "=== 'closing') return comeAgain(rules.leaseMs)",
      },
    ],
  },
  {
    name: 'suspect-forgiven',
    breaks: 'A killer of processes that could not run, since it was busy, counts as innocent.',
    from: 9,
    edits: [{ file: SETTLE, find: '    isUnproven: true,\n', replace: '' }],
  },
  {
    name: 'put-off-counts',
    breaks: '`RetryLater` counts as a failed try.',
    from: 0,
    edits: [{ file: SETTLE, find: 'LEAST_DELAY_MS), false)', replace: 'LEAST_DELAY_MS), true)' }],
  },
  {
    name: 'dead-letter-not-taken',
    breaks: 'An event is tried again though its handler threw `DeadLetter`.',
    from: 0,
    edits: [
      {
        file: SETTLE,
        find: "if (steering === 'bury') return bury('dead_letter')",
        replace: "if (steering === 'bury') return wait(1_000, true)",
      },
    ],
  },
  {
    name: 'put-off-for-ever',
    breaks: '`RetryLater` carries an event past the retention of its finish marks.',
    from: 10,
    edits: [{ file: SETTLE, find: "? bury('expired')", replace: '? wait(steering.afterMs, false)' }],
  },
  {
    name: 'one-try-more',
    breaks: 'An event is tried once more than it may be.',
    from: 1,
    edits: [{ file: SETTLE, find: 'failures >= rules.retries.attempts', replace: 'failures > rules.retries.attempts' }],
  },
  {
    name: 'delay-of-the-try-before',
    breaks: 'The delay after a failed try is that of the one before it.',
    from: 0,
    edits: [{ file: SETTLE, find: 'delayAfter(failures), true)', replace: 'delayAfter(item.failures), true)' }],
  },
  {
    name: 'delay-varied-too-much',
    breaks: 'Default delays are half as long or twice as long by chance.',
    from: 0,
    edits: [{ file: 'src/inbox/retries.ts', find: 'const JITTER = 0.1', replace: 'const JITTER = 0.5' }],
  },
  {
    name: 'buried-without-marks',
    breaks: 'A dead letter does not keep which handlers have finished.',
    from: 2,
    edits: [
      {
        file: SETTLE,
        find: "({ next: 'bury', marks, tried:",
        replace: "({ next: 'bury', marks: [], tried:",
      },
    ],
  },
  {
    name: 'kept-marks-not-read',
    breaks: 'A replayed dead letter runs the handlers again that had finished, once the store has forgotten them.',
    from: 7,
    edits: [
      {
        file: 'src/receiver/run-event.ts',
        find: 'item === undefined || item.marks.length === 0 ? marks',
        replace: 'item === undefined || true ? marks',
      },
    ],
  },
  {
    name: 'killer-after-two-deaths',
    breaks: 'Two deaths make a dead letter.',
    from: 8,
    edits: [{ file: SETTLE, find: 'MOST_DEATHS = 3', replace: 'MOST_DEATHS = 2' }],
  },
  {
    name: 'killer-runs-on',
    breaks: 'A killer is run for ever.',
    from: 8,
    edits: [
      {
        file: 'src/inbox/worker.ts',
        find: 'item.deaths >= MOST_DEATHS ?',
        replace: 'item.deaths < 0 ?',
      },
    ],
  },
  {
    name: 'killer-without-marks',
    breaks: 'A killer becomes a dead letter without the marks that the store has.',
    from: 45,
    edits: [
      {
        file: 'src/inbox/worker.ts',
        find: '? recall(item) :',
        replace: '? { ...(await recall(item)), marks: item.marks } :',
      },
    ],
  },
  {
    name: 'removed-without-handlers',
    breaks: 'A worker without a handler for an event drops it.',
    from: 8,
    edits: [
      {
        file: SETTLE,
        find: "|| outcome.outcome === 'duplicate') return",
        replace: "|| outcome.outcome === 'duplicate' || outcome.outcome === 'ignored') return",
      },
    ],
  },
  {
    name: 'duplicate-tried-again',
    breaks: 'An event that is done already fails.',
    from: 0,
    edits: [
      {
        file: SETTLE,
        find: "if (outcome.outcome === 'handled' || outcome.outcome === 'duplicate')",
        replace: "if (outcome.outcome === 'handled')",
      },
    ],
  },
  {
    name: 'one-dead-letter-buries-all',
    breaks: 'A handler that throws `DeadLetter` ends the tries of another one that just failed.',
    from: 0,
    edits: [
      {
        file: 'src/inbox/steer.ts',
        find: 'if (wish === undefined) return undefined',
        replace: 'if (wish === undefined) continue',
      },
    ],
  },
]

import type { PlantedFault } from './planted-fault.ts'

const RECEIVER = 'src/receiver/'

/** Faults of deliveries: acceptance, joining, answers and reports. */
export const FAULTS_OF_DELIVERIES: readonly PlantedFault[] = [
  {
    name: 'acknowledged-before-the-work',
    breaks: 'A delivery is answered 200 while its handlers run.',
    from: 0,
    edits: [
      {
        file: `${RECEIVER}runs.ts`,
        find: 'run.ended = this.#finish(run, running)\n    return run.wait(run.first)',
        replace: "run.ended = this.#finish(run, running)\n    return toOutcome('handled', run)",
      },
    ],
  },
  {
    name: 'joined-answered-immediately',
    breaks: 'A duplicate of an event under way is answered 200 immediately.',
    from: 5,
    edits: [
      {
        file: `${RECEIVER}runs.ts`,
        find: 'return underWay.wait(delivery)',
        replace: "return toOutcome('duplicate', event)",
      },
    ],
  },
  {
    name: 'join-after-abandonment',
    breaks: 'A duplicate joins a run that was given up.',
    from: 4,
    edits: [
      {
        file: `${RECEIVER}runs.ts`,
        find: '    this.#remove(run)\n    if (run.goesOn',
        replace:
          "    if (!('code' in outcome) || outcome.code !== 'handler_abandoned') this.#remove(run)\n    if (run.goesOn",
      },
    ],
  },
  {
    name: 'failure-answered-200',
    breaks: 'A delivery whose handler failed is answered 200.',
    from: 8,
    edits: [
      {
        file: `${RECEIVER}attempt.ts`,
        find: "toFailed(500, 'handler_failed', error, this.#run), 'release')",
        replace: "toOutcome('handled', this.#run), 'release')",
      },
    ],
  },
  {
    name: 'deadline-never-answered',
    breaks: 'A delivery waits for its handlers beyond its deadline.',
    from: 4,
    edits: [
      {
        file: `${RECEIVER}run.ts`,
        find: 'if (delivery.deadline === Number.POSITIVE_INFINITY) return\n',
        replace: 'if (delivery.deadline > 0) return\n',
      },
    ],
  },
  {
    name: 'deadline-by-the-wall-clock',
    breaks: 'A wall clock that jumps back while a body comes in puts the deadline off.',
    from: 39,
    edits: [
      {
        file: `${RECEIVER}deliver.ts`,
        find: 'Math.min(Math.max(elapsedMs, 0), deadlineMs)',
        replace: 'Math.min(elapsedMs, deadlineMs)',
      },
    ],
  },
  {
    name: 'account-not-compared',
    breaks: "A tenant's secret signs events of another tenant.",
    from: 6,
    edits: [
      {
        file: 'src/protocol/authenticate.ts',
        find: 'return OTHER_ACCOUNT',
        replace: 'return event',
      },
    ],
  },
  {
    name: 'one-secret-tried',
    breaks: 'Only the first of several secrets is tried.',
    from: 0,
    edits: [
      {
        file: 'src/protocol/authenticate.ts',
        find: 'of keys) {\n    if (!matchesKey',
        replace: 'of keys.slice(0, 1)) {\n    if (!matchesKey',
      },
    ],
  },
  {
    name: 'signature-not-compared',
    breaks: 'Every well-formed signature holds.',
    from: 1,
    edits: [
      {
        file: 'src/protocol/authenticate.ts',
        find: 'if (!matchesKey(body, signature, key)) continue // 4',
        replace: '',
      },
    ],
  },
  {
    name: 'signature-told',
    breaks: 'The reason of a refusal, which hooks and log lines carry, quotes the signature.',
    from: 1,
    edits: [
      {
        file: 'src/protocol/authenticate.ts',
        find: 'if (accounts === undefined) return MISMATCH',
        replace: "if (accounts === undefined) return new Rejection('signature_mismatch', 'not ' + signature)",
      },
    ],
  },
  {
    name: 'key-without-account',
    breaks: 'Two accounts that use the same event id share a key.',
    from: 0,
    edits: [{ file: 'src/protocol/dedup-key.ts', find: '[prefix, toPart(id)]', replace: '[namePart, toPart(id)]' }],
  },
  {
    name: 'store-asked-for-ignored',
    breaks: 'An event that no handler takes is written to the store.',
    from: 0,
    edits: [
      {
        file: `${RECEIVER}deliver.ts`,
        find: 'if (route === undefined) return',
        replace:
          'if (route === undefined) void this.#shared.settings.store.claim(this.#shared.toKey(event.accountKey, event.id), 15_000)\n    if (route === undefined) return',
      },
    ],
  },
  {
    name: 'close-does-not-wait',
    breaks: '`close()` resolves while events are under way.',
    from: 5,
    edits: [
      {
        file: `${RECEIVER}create-receiver.ts`,
        find: 'activity.drain(settings.clock, timeoutMs),',
        replace: '',
      },
    ],
  },
  {
    name: 'timer-left',
    breaks: 'The timer of a deadline stays when the delivery was answered.',
    from: 17,
    edits: [
      {
        file: `${RECEIVER}run.ts`,
        find: 'if (waiter.timer !== undefined) this.#shared.answerTimers.clear(waiter.timer)',
        replace: '',
      },
    ],
  },
  {
    name: 'hook-believed',
    breaks: "What a hook of the app's throws reaches whoever made the delivery.",
    from: 0,
    edits: [
      {
        file: `${RECEIVER}reporter.ts`,
        find: '    } catch (error) {\n      this.#hookFailed(name, error)',
        replace: '    } catch (error) {\n      throw error',
      },
    ],
  },
  {
    name: 'host-never-let-go',
    breaks: 'A host is kept awake for work that has ended.',
    from: 7,
    edits: [
      {
        file: `${RECEIVER}runs.ts`,
        find: 'run.ended = this.#finish(run, running)',
        replace: 'void this.#finish(run, running)\n    run.ended = new Promise(() => {})',
      },
    ],
  },
  {
    name: 'release-lost-with-close',
    breaks: '`close()` does not wait for results that the store has not taken.',
    from: 304,
    edits: [
      {
        file: `${RECEIVER}lease.ts`,
        find: '    activity.begin()\n    this.#shared.untakenMarks++\n',
        replace: '    this.#shared.untakenMarks++\n',
      },
      {
        file: `${RECEIVER}lease.ts`,
        find: "that had finished may run again'))\n    activity.end()\n",
        replace: "that had finished may run again'))\n",
      },
    ],
  },
]

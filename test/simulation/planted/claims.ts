import type { PlantedFault } from './planted-fault.ts'

const RECEIVER = 'src/receiver/'

/** Faults of claims: their taking, renewal and release. */
export const FAULTS_OF_CLAIMS: readonly PlantedFault[] = [
  {
    name: 'claim-not-awaited',
    breaks: 'Handlers begin before the store has answered the claim.',
    from: 0,
    edits: [
      {
        file: `${RECEIVER}run-event.ts`,
        find: 'claim = isThenable(asked) ? await asked : asked',
        replace: "claim = isThenable(asked) ? { state: 'claimed', token: 'guessed', marks: [] } : asked",
      },
    ],
  },
  {
    name: 'busy-answered-as-duplicate',
    breaks: 'An event that another process is handling is answered 200.',
    from: 1,
    edits: [
      {
        file: `${RECEIVER}run-event.ts`,
        find: "      run.phase = 'busy'\n",
        replace: "      return run.end(toOutcome('duplicate', run))\n",
      },
    ],
  },
  {
    name: 'renewal-too-late',
    breaks: "A claim is renewed at the lease's end instead of at a third of it.",
    from: 4,
    edits: [
      {
        file: `${RECEIVER}lease.ts`,
        find: 'this.#askedAt + settings.leaseMs / 3, renew',
        replace: 'this.#askedAt + settings.leaseMs, renew',
      },
      {
        file: `${RECEIVER}lease.ts`,
        find: ': leaseMs / 3\n',
        replace: ': leaseMs\n',
      },
    ],
  },
  {
    name: 'renewal-not-repeated',
    breaks: 'A claim is renewed once, and then no more.',
    from: 4,
    edits: [
      {
        file: `${RECEIVER}lease.ts`,
        find: 'while (!this.#isStopped) {',
        replace: 'for (let times = 0; times < 1 && !this.#isStopped; times++) {',
      },
    ],
  },
  {
    name: 'late-claim-kept',
    breaks: 'A claim that arrives when nobody waits for it any more is not given back.',
    from: 10,
    edits: [
      {
        file: `${RECEIVER}run-event.ts`,
        find: "if (late.state === 'claimed')",
        replace: "if (late.state === 'done')",
      },
    ],
  },
  {
    name: 'late-claim-renewed',
    breaks: 'A claim that arrives when nobody waits for it any more is renewed for ever.',
    from: 5,
    edits: [
      {
        file: `${RECEIVER}run-event.ts`,
        find: 'late.token, askedAt).release(late.marks)',
        replace: 'late.token, askedAt).keep(() => late.marks, () => {})',
      },
    ],
  },
  {
    name: 'released-without-marks',
    breaks: 'The handlers that finished are not told to the store with the release.',
    from: 23,
    edits: [
      {
        file: `${RECEIVER}lease.ts`,
        find: 'settings.store.release(this.#key, this.#token, marks)',
        replace: 'settings.store.release(this.#key, this.#token, [])',
      },
    ],
  },
  {
    name: 'release-not-repeated',
    breaks: 'A release that the store did not take is not offered again.',
    from: 80,
    edits: [
      {
        file: `${RECEIVER}lease.ts`,
        find: "      goesOn = this.#keepTelling('release', release)\n",
        replace: '',
      },
    ],
  },
  {
    name: 'complete-not-repeated',
    breaks: 'A completion that the store did not take is not offered again.',
    from: 32,
    edits: [
      {
        file: `${RECEIVER}run-event.ts`,
        find: 'isDone = await lease.keepCompleting()',
        replace: 'return handled',
      },
    ],
  },
  {
    name: 'renewal-not-urgent',
    breaks: 'After a renewal that failed, the next one comes a third of the lease later.',
    from: 8,
    edits: [
      {
        file: `${RECEIVER}lease.ts`,
        find: 'const isUrgent = !isHeld && clock.monotonic() < heldUntil',
        replace: 'const isUrgent = false && clock.monotonic() < heldUntil',
      },
    ],
  },
  {
    name: 'release-in-long-pauses',
    breaks: 'A release that the store did not take is offered again only after an ever longer time.',
    from: 6961,
    edits: [
      {
        file: `${RECEIVER}store-call.ts`,
        find: 'Math.min(delayMs * 2, LONGEST_DELAY_MS)',
        replace: 'delayMs * 2',
      },
    ],
  },
  {
    name: 'late-claim-given-back-after-close',
    breaks: '`close()` does not wait until a claim that came too late is given back.',
    from: 9963,
    edits: [
      {
        file: `${RECEIVER}lease.ts`,
        find: '    activity.begin() // no run awaits the release of a claim that came too late\n',
        replace: '',
      },
      {
        file: `${RECEIVER}lease.ts`,
        find: "      goesOn = this.#keepTelling('release', release)\n    }\n    activity.end()\n",
        replace: "      goesOn = this.#keepTelling('release', release)\n    }\n",
      },
    ],
  },
]

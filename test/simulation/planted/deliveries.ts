import type { PlantedFault } from './planted-fault.ts'

const RECEIVER = 'src/receiver/'

/** Faults of deliveries: what is accepted, joined, answered and told. */
export const FAULTS_OF_DELIVERIES: readonly PlantedFault[] = [
  {
    name: 'acknowledged-before-the-work',
    breaks: 'A delivery is answered 200 while its handlers run.',
    from: 0,
    edits: [
      {
        file: `${RECEIVER}dispatcher.ts`,
        find: 'this.#runs.set(key, run)\n    return run.join(delivery)',
        replace: "this.#runs.set(key, run)\n    return toEventOutcome('handled', event)",
      },
    ],
  },
  {
    name: 'joined-answered-immediately',
    breaks: 'A duplicate of an event under way is answered 200 immediately.',
    from: 5,
    edits: [
      {
        file: `${RECEIVER}dispatcher.ts`,
        find: 'return this.#join(underWay, delivery)',
        replace: "return toEventOutcome('duplicate', event)",
      },
    ],
  },
  {
    name: 'join-after-abandonment',
    breaks: 'A duplicate joins a run that was given up.',
    from: 4,
    edits: [
      {
        file: `${RECEIVER}run.ts`,
        find: 'this.#host.ended(this.key, this)',
        replace: "if (!('code' in outcome) || outcome.code !== 'handler_abandoned') this.#host.ended(this.key, this)",
      },
    ],
  },
  {
    name: 'failure-answered-200',
    breaks: 'A delivery whose handler failed is answered 200.',
    from: 9,
    edits: [
      {
        file: `${RECEIVER}work.ts`,
        find: "else this.#end(toFailed(500, 'handler_failed', error, this.#event), 'release')",
        replace: "else this.#end(toEventOutcome('handled', this.#event), 'release')",
      },
    ],
  },
  {
    name: 'deadline-never-answered',
    breaks: 'A delivery waits for its handlers beyond its deadline.',
    from: 4,
    edits: [{ file: `${RECEIVER}waiters.ts`, find: 'if (this.#waiters.has(waiter))', replace: 'if (false)' }],
  },
  {
    name: 'deadline-by-the-wall-clock',
    breaks: 'A wall clock that jumps back while a body comes in puts the deadline off.',
    from: 39,
    edits: [
      {
        file: `${RECEIVER}create-receiver.ts`,
        find: '(elapsedMs > 0 ? Math.min(elapsedMs, deadlineMs) : 0)',
        replace: 'Math.min(elapsedMs, deadlineMs)',
      },
    ],
  },
  {
    name: 'account-not-compared',
    breaks: "A tenant's secret signs events of another tenant.",
    from: 6,
    edits: [{ file: `${RECEIVER}secrets.ts`, find: 'return OTHER_ACCOUNT', replace: 'return event' }],
  },
  {
    name: 'one-secret-tried',
    breaks: 'Only the first of several secrets is tried.',
    from: 0,
    edits: [
      {
        file: `${RECEIVER}secrets.ts`,
        find: 'of entries) {\n    if (!matchesKey',
        replace: 'of entries.slice(0, 1)) {\n    if (!matchesKey',
      },
    ],
  },
  {
    name: 'signature-not-compared',
    breaks: 'Every well-formed signature holds.',
    from: 1,
    edits: [{ file: `${RECEIVER}secrets.ts`, find: 'if (!matchesKey(body, signature, key)) continue', replace: '' }],
  },
  {
    name: 'signature-told',
    breaks: 'The reason of a refusal, which hooks and log lines carry, quotes the signature.',
    from: 1,
    edits: [
      {
        file: `${RECEIVER}secrets.ts`,
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
        file: `${RECEIVER}dispatcher.ts`,
        find: 'if (route === undefined) return',
        replace:
          'if (route === undefined) this.store.claim(this.#toKey(event.accountKey, event.id), this.leaseMs)\n    if (route === undefined) return',
      },
    ],
  },
  {
    name: 'close-does-not-wait',
    breaks: '`close()` resolves while events are under way.',
    from: 5,
    edits: [
      {
        file: `${RECEIVER}dispatcher.ts`,
        find: 'if (this.#runs.size === 0) return resolve()',
        replace: 'return resolve()',
      },
    ],
  },
  {
    name: 'timer-left',
    breaks: 'The timer of a deadline stays when the delivery was answered.',
    from: 1,
    edits: [
      {
        file: `${RECEIVER}waiters.ts`,
        find: 'if (waiter.timer !== undefined) this.#host.clock.clearTimeout(waiter.timer)',
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
        find: 'this.#follow(name, hook(...args))\n    } catch (error) {\n      this.#hookFailed(name, error)',
        replace: 'this.#follow(name, hook(...args))\n    } catch (error) {\n      throw error',
      },
    ],
  },
  {
    name: 'host-never-let-go',
    breaks: 'A host is kept awake for work that has ended.',
    from: 5,
    edits: [
      {
        file: `${RECEIVER}run.ts`,
        find: 'if (this.#onEnded !== undefined) for (const resolve of this.#onEnded) resolve()',
        replace: '',
      },
    ],
  },
]

import type { PlantedFault } from './planted-fault.ts'

const POLL = 'src/inbox/poll.ts'

/** Faults of acceptance, of the workers, and of the table of SQLite. */
export const FAULTS_OF_WORKERS: readonly Omit<PlantedFault, 'theme'>[] = [
  {
    name: 'settled-once',
    breaks: 'A result that the inbox did not take is not offered again.',
    from: 3,
    edits: [{ file: POLL, find: 'if (this.#hasAborted) return', replace: 'return' }],
  },
  {
    name: 'held-items-not-renewed',
    breaks: 'The lease of what a worker runs is renewed once, and then no more.',
    from: 4,
    edits: [
      {
        file: POLL,
        find: 'if (!this.#isClosing || this.#running.size > 0)\n      this',
        replace: 'if (this.#isClosing)\n      this',
      },
    ],
  },
  {
    name: 'renewal-of-items-too-late',
    breaks: 'After a renewal of what a worker runs that failed, the next one comes a lease later.',
    from: 69,
    edits: [{ file: POLL, find: 'waitMs = Math.min(RENEW_AGAIN_MS, leaseMs / 10)', replace: 'waitMs = leaseMs' }],
  },
  {
    name: 'beside-a-suspect',
    breaks: 'A worker takes more while an item runs that has to be alone.',
    from: 26,
    edits: [{ file: POLL, find: 'this.#isAlone ? 0 : concurrency', replace: 'concurrency' }],
  },
  {
    name: 'suspect-beside-others',
    breaks: 'A worker that is busy takes an item that has to be alone.',
    from: 26,
    edits: [
      {
        file: POLL,
        find: 'const isIdle = this.#running.size === 0',
        replace: 'const isIdle = this.#running.size >= 0',
      },
    ],
  },
  {
    name: 'more-than-concurrency',
    breaks: 'A worker takes as many items as it may run, whatever runs already.',
    from: 1,
    edits: [{ file: POLL, find: 'concurrency - this.#running.size', replace: 'concurrency' }],
  },
  {
    name: 'begun-while-closing',
    breaks: 'What comes while a worker is being closed is begun.',
    from: 50,
    edits: [{ file: POLL, find: 'this.#isClosing ? GIVEN_BACK : await', replace: 'await' }],
  },
  {
    name: 'never-aborted-at-close',
    breaks: 'What outlasts the closing of a worker is not aborted.',
    from: 20,
    edits: [{ file: POLL, find: 'for (const abort of this.#running.keys()) abort.abort()', replace: '' }],
  },
  {
    name: 'handlers-not-told-of-the-close',
    breaks: 'Handlers are not told that their worker is being closed.',
    from: 20,
    edits: [
      {
        file: 'src/receiver/attempt.ts',
        find: "    this.#run.first.item?.signal.addEventListener('abort', this.#onWorkerClosed)\n",
        replace: '',
      },
    ],
  },
  {
    name: 'worker-asleep',
    breaks: 'A worker that is full is not woken when something ends.',
    from: 0,
    edits: [
      {
        file: POLL,
        find: '      this.#awake()\n    })\n    this.#running.set',
        replace: '    })\n    this.#running.set',
      },
    ],
  },
  {
    name: 'worker-ends-with-an-outage',
    breaks: 'A worker whose look for items failed looks no more.',
    from: 0,
    edits: [
      {
        file: POLL,
        find: 'await this.#pause(taken === undefined ? AGAIN_MS : POLL_MS)',
        replace: 'if (taken === undefined) return\n      await this.#pause(POLL_MS)',
      },
    ],
  },
  {
    name: 'timer-left-by-a-worker',
    breaks: 'A worker that is closed leaves its timer.',
    from: 0,
    edits: [
      {
        file: POLL,
        find: 'if (this.#running.size === 0) this.#options.clock.clearTimeout',
        replace: 'if (this.#running.size > 0) this.#options.clock.clearTimeout',
      },
    ],
  },
  {
    name: 'dead-letter-not-told',
    breaks: 'The owner is not told of a dead letter.',
    from: 0,
    edits: [
      {
        file: 'src/inbox/worker.ts',
        find: "if (settlement.next !== 'bury') return",
        replace: "if (settlement.next !== 'bury' || item.failures > 0) return",
      },
    ],
  },
  {
    name: 'accepted-before-it-is-stored',
    breaks: 'An event is answered 200 before the inbox has it.',
    from: 0,
    edits: [
      {
        file: 'src/receiver/acceptor.ts',
        find: 'const answer = await (watch',
        replace: 'const answer = true as unknown\n    void (watch',
      },
    ],
  },
  {
    name: 'accepted-though-it-failed',
    breaks: 'An event that the inbox did not take in time is answered 200.',
    from: 2,
    edits: [
      { file: 'src/receiver/acceptor.ts', find: 'if (!(answer instanceof StoreFailure)) return', replace: 'return' },
    ],
  },
  {
    name: 'put-in-under-another-key',
    breaks: 'Two accounts with the same id are one item.',
    from: 0,
    edits: [
      {
        file: 'src/receiver/acceptor.ts',
        find: 'const item = { key,',
        replace: "const item = { key: key.replace(/account-[bc]/, 'account-a'),",
      },
    ],
  },
  {
    name: 'item-without-its-model',
    breaks: 'A worker gives its handlers an event without model and action.',
    from: 0,
    edits: [{ file: 'src/receiver/item-runner.ts', find: 'withModel(event, route), route', replace: 'event, route' }],
  },
  {
    name: 'try-not-reported',
    breaks: 'The owner is not told of the outcome of a try.',
    from: 0,
    edits: [
      {
        file: 'src/receiver/item-runner.ts',
        find: '    this.#shared.reporter.outcome(tried.outcome, delivery)\n',
        replace: '',
      },
    ],
  },
  {
    name: 'accounts-without-turns',
    breaks: 'The table of SQLite runs the backlog of one account before the first item of another.',
    from: 87,
    edits: [
      {
        file: 'adapters/stores/sqlite/turns.ts',
        find: 'Math.max(this.#lastByAccount.get(account) ?? 0, this.#next) + 1',
        replace: 'Math.max(...this.#lastByAccount.values(), this.#next) + 1',
      },
    ],
  },
  {
    name: 'deaths-beside-others-count',
    breaks: 'The table of SQLite counts deaths of processes that ran other items as well.',
    from: 2,
    edits: [
      {
        file: 'adapters/stores/sqlite/inbox-table.ts',
        find: 'deaths = deaths + is_alone',
        replace: 'deaths = deaths + 1',
      },
    ],
  },
  {
    name: 'settled-by-who-lost-it',
    breaks: 'The table of SQLite takes a result of a worker that has lost the item.',
    from: 547,
    edits: [
      {
        file: 'adapters/stores/sqlite/inbox-table.ts',
        find: 'AND worker = ?`\n  const',
        replace: "AND ? <> ''`\n  const",
      },
    ],
  },
]

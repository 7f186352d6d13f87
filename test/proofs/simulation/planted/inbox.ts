import type { FaultsByFile } from './planted-fault.ts'

/** Faults that only runs with an inbox can find. */
export const FAULTS_OF_THE_INBOX: FaultsByFile = {
  'src/inbox/settle.ts': {
    'busy-counts': {
      breaks: 'An event that another process is handling has failed, as if its handlers had.',
      from: 2,
      edits: { "'busy') return comeAgainIdle(rules.leaseMs)": "'busy') return wait(rules.leaseMs, true)" },
    },
    'busy-asked-at-once': {
      breaks: 'An event that another process is handling is taken again and again.',
      from: 2,
      edits: { "'busy') return comeAgainIdle(rules.leaseMs)": "'busy') return comeAgain(100)" },
    },
    'store-away-counts': {
      breaks: 'An outage of the store counts as a failed try.',
      from: 6,
      edits: { 'return comeAgainIdle(SOON_MS)': 'return wait(SOON_MS, true)' },
    },
    'lost-lease-counts': {
      breaks: 'A try whose claim another process took over counts as failed.',
      from: 60,
      edits: {
        "outcome.code === 'lease_lost') return comeAgain(rules.leaseMs)":
          "outcome.code === 'lease_lost') return wait(rules.leaseMs, true)",
      },
    },
    'closed-try-counts': {
      breaks: 'What a closed worker gives back has failed.',
      from: 6,
      edits: { "=== 'closing') return comeAgain(0)": "=== 'closing') return wait(0, true)" },
    },
    'closed-try-put-off': {
      breaks: 'What a closed worker gives back is tried only after a lease.',
      from: 6,
      edits: { "=== 'closing') return comeAgain(0)": "=== 'closing') return comeAgain(rules.leaseMs)" },
    },
    'suspect-forgiven': {
      breaks: 'A killer of processes that could not run, since it was busy, counts as innocent.',
      from: 37,
      edits: { '({ ...wait(afterMs, false), isUnproven: true })': 'wait(afterMs, false)' },
    },
    'put-off-counts': {
      breaks: '`RetryLater` counts as a failed try.',
      from: 0,
      edits: { 'LEAST_DELAY_MS), false)': 'LEAST_DELAY_MS), true)' },
    },
    'dead-letter-not-taken': {
      breaks: 'An event is tried again though its handler threw `DeadLetter`.',
      from: 2,
      edits: {
        "if (steering === 'bury') return bury('dead_letter')": "if (steering === 'bury') return wait(1_000, true)",
      },
    },
    'put-off-for-ever': {
      breaks: '`RetryLater` carries an event past the retention of its finish marks.',
      from: 10,
      edits: { "? bury('expired')": '? wait(steering.afterMs, false)' },
    },
    'one-try-more': {
      breaks: 'An event is tried once more than it may be.',
      from: 5,
      edits: { 'failures >= rules.retries.attempts': 'failures > rules.retries.attempts' },
    },
    'delay-of-the-try-before': {
      breaks: 'The delay after a failed try is that of the one before it.',
      from: 0,
      edits: { 'delayAfter(failures), true)': 'delayAfter(item.failures), true)' },
    },
    'buried-without-marks': {
      breaks: 'A dead letter does not keep which handlers have finished.',
      from: 2,
      edits: { "({ next: 'bury', marks, tried:": "({ next: 'bury', marks: [], tried:" },
    },
    'killer-after-two-deaths': {
      breaks: 'Two deaths make a dead letter.',
      from: 8,
      edits: { 'MOST_DEATHS = 3': 'MOST_DEATHS = 2' },
    },
    'removed-without-handlers': {
      breaks: 'A worker without a handler for an event drops it.',
      from: 8,
      edits: {
        "|| outcome.outcome === 'duplicate') return":
          "|| outcome.outcome === 'duplicate' || outcome.outcome === 'ignored') return",
      },
    },
    'duplicate-tried-again': {
      breaks: 'An event that is done already fails.',
      from: 0,
      edits: {
        "if (outcome.outcome === 'handled' || outcome.outcome === 'duplicate')": "if (outcome.outcome === 'handled')",
      },
    },
  },
  'src/inbox/retries.ts': {
    'delay-varied-too-much': {
      breaks: 'Default delays are half as long or twice as long by chance.',
      from: 0,
      edits: { 'const JITTER = 0.1': 'const JITTER = 0.5' },
    },
  },
  'src/receiver/run-event.ts': {
    'kept-marks-not-read': {
      breaks: 'A replayed dead letter runs the handlers again that had finished, once the store has forgotten them.',
      from: 7,
      edits: { 'item === undefined || item.marks.length === 0 ? marks': 'item === undefined || true ? marks' },
    },
  },
  'src/inbox/worker.ts': {
    'killer-runs-on': {
      breaks: 'A killer is run for ever.',
      from: 8,
      edits: { 'item.deaths >= MOST_DEATHS ?': 'item.deaths < 0 ?' },
    },
    'killer-without-marks': {
      breaks: 'A killer becomes a dead letter without the marks that the store has.',
      from: 45,
      edits: { '? parts.recall(item) :': '? { ...(await parts.recall(item)), marks: item.marks } :' },
    },
    'dead-letter-not-told': {
      breaks: 'The owner is not told of a dead letter.',
      from: 2,
      edits: {
        'if (line?.deadLetter !== undefined) parts': 'if (line?.deadLetter !== undefined && item.failures === 0) parts',
      },
    },
  },
  'src/inbox/steer.ts': {
    'one-dead-letter-buries-all': {
      breaks: 'A handler that throws `DeadLetter` ends the tries of another one that just failed.',
      from: 0,
      edits: { 'if (wish === undefined) return undefined': 'if (wish === undefined) continue' },
    },
  },
  'src/inbox/poll.ts': {
    'settled-once': {
      breaks: 'A result that the inbox did not take is not offered again.',
      from: 3,
      edits: { 'if (this.#hasAborted) return': 'return' },
    },
    'hung-items-kept': {
      breaks: 'A worker that is closed keeps what outlasts its abort.',
      from: 0,
      edits: { 'await this.#isWithin(this.#giveBack(), GIVE_BACK_MS)': '' },
    },
    'held-items-not-renewed': {
      breaks: 'The lease of what a worker runs is renewed once, and then no more.',
      from: 4,
      edits: { '(!this.#isClosing || this.#running.size > 0))\n      this': 'this.#isClosing)\n      this' },
    },
    'renewal-of-items-too-late': {
      breaks: 'After a renewal of what a worker runs that failed, the next one comes a lease later.',
      from: 69,
      edits: { 'waitMs = Math.min(RENEW_AGAIN_MS, leaseMs / 10)': 'waitMs = leaseMs' },
    },
    'beside-a-suspect': {
      breaks: 'A worker takes more while an item runs that has to be alone.',
      from: 26,
      edits: { 'if (aloneMs > 0 || this.#room ===': 'if (this.#room ===' },
    },
    'suspect-beside-others': {
      breaks: 'A worker that is busy takes an item that has to be alone.',
      from: 26,
      edits: { 'const isIdle = this.#running.size === 0': 'const isIdle = this.#running.size >= 0' },
    },
    'more-than-concurrency': {
      breaks: 'A worker takes as many items as it may run, whatever runs already.',
      from: 17,
      edits: { 'limit: this.#room': 'limit: this.#parts.concurrency' },
    },
    'begun-while-closing': {
      breaks: 'What comes while a worker is being closed is begun.',
      from: 50,
      edits: { 'this.#isClosing ? GIVEN_BACK : await': 'await' },
    },
    'never-aborted-at-close': {
      breaks: 'What outlasts the closing of a worker is not aborted.',
      from: 20,
      edits: { 'for (const abort of this.#running.keys()) abort.abort()': '' },
    },
    'worker-asleep': {
      breaks: 'A worker that is full is not woken when something ends.',
      from: 1,
      edits: { '      this.#awake()\n    })\n    this.#running.set': '    })\n    this.#running.set' },
    },
    'worker-ends-with-an-outage': {
      breaks: 'A worker whose look for items failed looks no more.',
      from: 0,
      edits: {
        'await this.#pause(taken === undefined ? AGAIN_MS : POLL_MS)':
          'if (taken === undefined) return\n      await this.#pause(POLL_MS)',
      },
    },
    'timer-left-by-a-worker': {
      breaks: 'A worker that is closed leaves its timer.',
      from: 0,
      edits: { '    clock.clearTimeout(this.#renewTimer)\n': '' },
    },
  },
  'src/inbox/work-once.ts': {
    'works-on-after-once': {
      breaks: 'The worker of `workOnce` takes items after that has resolved.',
      from: 0,
      edits: { '  await (worker.closing ?? worker.close(0))\n': '' },
    },
    'once-without-end': {
      breaks: 'A call of `workOnce` works on after its time.',
      from: 23,
      edits: { 'clock.setTimeout(end, until - clock.monotonic())': 'clock.setTimeout(end, 600_000)' },
    },
    'once-more-than-max': {
      breaks: 'A call of `workOnce` runs more events than it may.',
      from: 39,
      edits: { '    max,\n    onClosing': '    onClosing' },
    },
    'once-and-never-again': {
      breaks: 'A call of `workOnce` resolves before it has run anything.',
      from: 0,
      edits: { '  await ended\n': '' },
    },
  },
  'src/inbox/solitude.ts': {
    'suspect-joined-at-once': {
      breaks: 'Others join a suspect at once.',
      from: 26,
      edits: { 'Math.min(ranMs + renewMs, LONGEST_ALONE_MS)': '0' },
    },
    'suspect-joined-too-soon': {
      breaks: 'Others join a suspect after the time that it surely ran before, and not after what it may have run.',
      from: 26,
      edits: { 'ranMs + renewMs, LONGEST': 'ranMs, LONGEST' },
    },
    'suspect-never-joined': {
      breaks: 'Nobody joins a suspect for as long as it runs.',
      from: 48,
      edits: { 'Math.min(ranMs + renewMs, LONGEST_ALONE_MS)': '3_600_000' },
    },
  },
  'src/receiver/attempt.ts': {
    'handlers-not-told-of-the-close': {
      breaks: 'Handlers are not told that their worker is being closed.',
      from: 20,
      edits: { "      signal.addEventListener('abort', this.#onWorkerClosed)\n": '' },
    },
  },
  'src/receiver/inbox-path.ts': {
    'accepted-before-it-is-stored': {
      breaks: 'An event is answered 200 before the inbox has it.',
      from: 0,
      edits: { 'const answer = await (watch': 'const answer = true as unknown\n    void (watch' },
    },
    'accepted-though-it-failed': {
      breaks: 'An event that the inbox did not take in time is answered 200.',
      from: 2,
      edits: { 'if (!(answer instanceof StoreFailure)) return': 'return' },
    },
    'put-in-under-another-key': {
      breaks: 'Two accounts with the same id are one item.',
      from: 0,
      edits: {
        'const item = { ...event,': "const item = { ...event, key: event.key.replace(/account-[bc]/, 'account-a'),",
      },
    },
    'item-without-its-model': {
      breaks: 'A worker gives its handlers an event without model and action.',
      from: 0,
      edits: { 'withModel(event, route), route': 'event, route' },
    },
    'try-not-reported': {
      breaks: 'The owner is not told of the outcome of a try.',
      from: 0,
      edits: { '      reporter.outcome(tried.outcome, delivery)\n': '' },
    },
  },
  'adapters/stores/sqlite/turns.ts': {
    'accounts-without-turns': {
      breaks: 'The table of SQLite runs the backlog of one account before the first item of another.',
      from: 87,
      edits: {
        'Math.max(this.#lastByAccount.get(account) ?? 0, this.#next) + 1':
          'Math.max(...this.#lastByAccount.values(), this.#next) + 1',
      },
    },
  },
  'adapters/stores/sqlite/inbox-table.ts': {
    'two-suspects-at-a-time': {
      breaks: 'The table of SQLite gives each idle worker a suspect of its own.',
      from: 45,
      edits: { 'next?.seq === undefined || isOneAlone.get(now) !== undefined': 'next?.seq === undefined' },
    },
    'joined-and-alone': {
      breaks: 'The table of SQLite counts the death of a suspect that others have joined.',
      from: 99,
      edits: { "if (suspects === 'join') join.run(worker)": '' },
    },
  },
  'adapters/stores/sqlite/inbox-statements.ts': {
    'deaths-beside-others-count': {
      breaks: 'The table of SQLite counts deaths of processes that ran other items as well.',
      from: 2,
      edits: { 'deaths = deaths + is_alone': 'deaths = deaths + 1' },
    },
    'alone-after-one-death': {
      breaks: 'The table of SQLite makes a suspect of each item whose worker died once.',
      from: 2,
      edits: { 'state = CASE losses WHEN 0 THEN @': 'state = CASE -losses WHEN 1 THEN @' },
    },
    'stall-counts-as-death': {
      breaks: 'The table of SQLite counts the death of a worker that was only delayed.',
      from: 547,
      edits: { 'losses = losses - 1, deaths = deaths - was_alone': 'losses = losses' },
    },
    'lost-by-a-stall': {
      breaks: 'The table of SQLite takes items from a worker that was delayed and that nobody else took.',
      from: 108,
      edits: { 'AND key = coalesce(?, key)`': 'AND key = coalesce(?, key) AND state = 2`' },
    },
    'settled-by-who-lost-it': {
      breaks: 'The table of SQLite takes a result of a worker that has lost the item.',
      from: 547,
      edits: {
        'DELETE FROM @table WHERE key = ? AND state = @RUNNING AND worker = ?`':
          "DELETE FROM @table WHERE key = ? AND state = @RUNNING AND ? <> ''`",
        'lane END WHERE key = ? AND state = @RUNNING AND worker = ?`':
          "lane END WHERE key = ? AND state = @RUNNING AND ? <> ''`",
        'delay = 0, worker = NULL, is_alone = 0, lost_by = NULL WHERE key = ? AND state = @RUNNING AND worker = ?`':
          "delay = 0, worker = NULL, is_alone = 0, lost_by = NULL WHERE key = ? AND state = @RUNNING AND ? <> ''`",
        'tries = ?, worker = NULL, is_alone = 0, lost_by = NULL WHERE key = ? AND state = @RUNNING AND worker = ?`':
          "tries = ?, worker = NULL, is_alone = 0, lost_by = NULL WHERE key = ? AND state = @RUNNING AND ? <> ''`",
      },
    },
  },
}

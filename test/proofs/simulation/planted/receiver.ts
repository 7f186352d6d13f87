import type { FaultsByFile } from './planted-fault.ts'

/** Faults of deliveries, of claims, and of the work of handlers. */
export const FAULTS_OF_THE_RECEIVER: FaultsByFile = {
  'src/receiver/run-event.ts': {
    'claim-not-awaited': {
      breaks: 'Handlers begin before the store has answered the claim.',
      from: 0,
      edits: {
        'isThenable(asked.answer) ? await asked.answer :':
          "isThenable(asked.answer) ? { state: 'claimed', token: 'guessed', marks: [] } :",
      },
    },
    'busy-answered-as-duplicate': {
      breaks: 'An event that another process is handling is answered 200.',
      from: 1,
      edits: { "      run.moveTo({ at: 'busy' })\n": "      return endUnclaimed(toOutcome('duplicate', run))\n" },
    },
    'late-claim-kept': {
      breaks: 'A claim that arrives when nobody waits for it any more is not given back.',
      from: 108,
      edits: { "if (late.state === 'claimed')": "if (late.state === 'done')" },
    },
    'late-claim-renewed': {
      breaks: 'A claim that arrives when nobody waits for it any more is renewed for ever.',
      from: 11,
      edits: { 'late.token, at).release(late.marks)': 'late.token, at).startRenewing(() => late.marks, () => {})' },
    },
    'complete-not-repeated': {
      breaks: 'A completion that the store did not take is not offered again.',
      from: 32,
      edits: { 'answer = await lease.keepCompleting(marks)': 'return verdict' },
    },
  },
  'src/receiver/lease.ts': {
    'renewal-too-late': {
      breaks: "A claim is renewed at the lease's end instead of at a third of it.",
      from: 4,
      edits: {
        'this.#askedAt + leaseMs / 3': 'this.#askedAt + leaseMs',
        ': leaseMs / 3\n': ': leaseMs\n',
      },
    },
    'renewal-not-repeated': {
      breaks: 'A claim is renewed once, and then no more.',
      from: 4,
      edits: { 'while (!this.#isStopped) {': 'for (let times = 0; times < 1 && !this.#isStopped; times++) {' },
    },
    'released-without-marks': {
      breaks: 'The handlers that finished are not told to the store with the release.',
      from: 26,
      edits: {
        'settings.store.release(this.#key, this.#token, marks,': 'settings.store.release(this.#key, this.#token, [],',
      },
    },
    'release-not-repeated': {
      breaks: 'A release that the store did not take is not offered again.',
      from: 80,
      edits: { "      goesOn = this.#retryMarks('release', release)\n": '' },
    },
    'renewal-not-urgent': {
      breaks: 'After a renewal that failed, the next one comes a third of the lease later.',
      from: 8,
      edits: {
        'const isUrgent = !isHeld && clock.monotonic() < heldUntil':
          'const isUrgent = false && clock.monotonic() < heldUntil',
      },
    },
    'late-claim-given-back-after-close': {
      breaks: '`close()` does not wait until a claim that came too late is given back.',
      from: 9963,
      edits: {
        '    activity.begin() // for `close`: nothing else waits for the release of a claim that came too late\n': '',
        "      goesOn = this.#retryMarks('release', release)\n    }\n    activity.end()\n":
          "      goesOn = this.#retryMarks('release', release)\n    }\n",
      },
    },
    'release-lost-with-close': {
      breaks: '`close()` does not wait for results that the store has not taken.',
      from: 304,
      edits: {
        '    activity.begin()\n    this.#shared.untakenMarks++\n': '    this.#shared.untakenMarks++\n',
        "that had finished may run again'))\n    activity.end()\n": "that had finished may run again'))\n",
      },
    },
    'release-in-long-pauses': {
      breaks: 'A release that the store did not take is offered again only after an ever longer time.',
      from: 6961,
      edits: { 'Math.min(delayMs * 2, LONGEST_DELAY_MS)': 'delayMs * 2' },
    },
  },
  'src/receiver/attempt.ts': {
    'mark-before-the-work': {
      breaks: 'A handler counts as finished as soon as it has begun.',
      from: 4,
      edits: {
        "of todo) this.#handlers.set(name, 'running')": "of todo) this.#handlers.set(name, 'finished')",
      },
    },
    'marks-not-read': {
      breaks: 'A retry runs every handler, also those that had finished.',
      from: 18,
      edits: {
        'this.#handlers.size === 0 ? route.handlers : route.handlers.filter(':
          'true ? route.handlers : route.handlers.filter(',
      },
    },
    'abort-never-raised': {
      breaks: 'A handler that waits for its abort is never told of it.',
      from: 6,
      edits: { 'this.#controller?.abort(this.#abortReason)': '' },
    },
    'abort-at-the-deadline': {
      breaks: 'Handlers are aborted when their delivery has to be answered, so that late successes are thrown away.',
      from: 4,
      edits: { 'setTimeout(resolve, settings.handlerTimeoutMs)': 'setTimeout(resolve, settings.deadlineMs)' },
    },
    'late-end-settles': {
      breaks: 'The late end of handlers that were given up settles the event.',
      from: 19,
      edits: {
        'if (this.#isOver) return // given up': 'if (this.#isOver) void this.#lease.complete([])',
      },
    },
    'done-before-the-commit': {
      breaks: 'A handler that does not wait for its transaction counts as finished before it is committed.',
      from: 9,
      theme: 'transactions',
      edits: { '        transaction.close()\n        await transaction.ended\n': '        transaction.close()\n' },
    },
    'failure-answered-200': {
      breaks: 'A delivery whose handler failed is answered 200.',
      from: 8,
      edits: {
        "toFailed(500, 'handler_failed', error, this.#run), 'release')": "toOutcome('handled', this.#run), 'release')",
      },
    },
  },
  'src/receiver/routes.ts': {
    'marks-by-position': {
      breaks: "A handler's finish mark stands under its position, which changes with a deployment.",
      from: 8,
      edits: {
        '.map(({ name, order, handler }) => ({ name, order':
          '.map(({ name, order, handler }, index) => ({ name: String(index), order',
      },
    },
  },
  'src/receiver/context.ts': {
    'transaction-unwatched': {
      breaks: 'A transaction that nobody waits for and that fails is an unhandled rejection.',
      from: 416,
      theme: 'transactions',
      edits: { 'ignoreRejection(ended)\n': '\n' },
    },
    'transaction-not-rolled-back': {
      breaks: 'The transaction of a handler that was given up is committed later.',
      from: 19,
      theme: 'transactions',
      edits: { 'this.#rollBack.abort(reason)': '' },
    },
  },
  'src/receiver/intercept.ts': {
    'interceptor-believed': {
      breaks: 'An interceptor that does not run its handler, or does not wait for it, acknowledges the event.',
      from: 11,
      edits: { 'if (isThenable(returned)) return endAfter(returned, end)': 'return returned' },
    },
    'interceptor-runs-twice': {
      breaks: 'An interceptor that calls run() twice runs its handler twice.',
      from: 2,
      edits: { 'ran ??= runOnce(': 'ran = runOnce(' },
    },
  },
  'src/receiver/runs.ts': {
    'acknowledged-before-the-work': {
      breaks: 'A delivery is answered 200 while its handlers run.',
      from: 0,
      edits: {
        ': waiters.join(delivery)\n': ": toOutcome('handled', run)\n",
      },
    },
    'joined-answered-immediately': {
      breaks: 'A duplicate of an event under way is answered 200 immediately.',
      from: 5,
      edits: { 'return underWay.join(delivery)': "return toOutcome('duplicate', event)" },
    },
    'join-after-abandonment': {
      breaks: 'A duplicate joins a run that was given up.',
      from: 4,
      edits: {
        '    this.#remove(waiters)\n    return result':
          "    if (!('code' in result.outcome) || result.outcome.code !== 'handler_abandoned') this.#remove(waiters)\n    return result",
      },
    },
  },
  'src/receiver/run.ts': {
    'event-shared': {
      breaks: 'The handlers of one event are given the same object.',
      from: 14,
      edits: { 'if (index === 0 && route.schema === undefined) return event': 'if (index >= 0) return event' },
    },
  },
  'src/receiver/waiters.ts': {
    'host-never-let-go': {
      breaks: 'A host is kept awake for work that has ended.',
      from: 7,
      edits: {
        'this.#ended = this.#answerAtEnd(ended)':
          'void this.#answerAtEnd(ended)\n    this.#ended = new Promise(() => {})',
      },
    },
    'deadline-never-answered': {
      breaks: 'A delivery waits for its handlers beyond its deadline.',
      from: 4,
      edits: { 'if (delivery.deadline === Number.POSITIVE_INFINITY) return\n': 'if (delivery.deadline > 0) return\n' },
    },
    'timer-left': {
      breaks: 'The timer of a deadline stays when the delivery was answered.',
      from: 17,
      edits: { 'if (waiter.timer !== undefined) this.#shared.settings.clock.clearTimeout(waiter.timer)': '' },
    },
  },
  'src/receiver/deliver.ts': {
    'deadline-by-the-wall-clock': {
      breaks: 'A wall clock that jumps back while a body comes in puts the deadline off.',
      from: 39,
      edits: { 'return Math.max(elapsedMs, 0)': 'return elapsedMs' },
    },
    'store-asked-for-ignored': {
      breaks: 'An event that no handler takes is written to the store.',
      from: 0,
      edits: {
        'if (route === undefined) return':
          'if (route === undefined) void this.#shared.settings.store.claim(this.#shared.toKey(event.accountKey, event.id), 15_000)\n    if (route === undefined) return',
      },
    },
  },
  'src/protocol/authenticate.ts': {
    'account-not-compared': {
      breaks: "A tenant's secret signs events of another tenant.",
      from: 6,
      edits: { 'return refuseOther(accounts, parsed.event.accountKey)': 'return parsed' },
    },
    'one-secret-tried': {
      breaks: 'Only the first of several secrets is tried.',
      from: 0,
      edits: { 'of keys) {\n    if (!protocol': 'of keys.slice(0, 1)) {\n    if (!protocol' },
    },
    'signature-not-compared': {
      breaks: 'Every well-formed signature holds.',
      from: 1,
      edits: { 'if (!protocol.matches(body, head, key)) continue // 4': '' },
    },
    'signature-told': {
      breaks: 'The reason of a refusal, which hooks and log lines carry, quotes the signature.',
      from: 1,
      edits: {
        'if (accounts === undefined) return MISMATCH':
          "if (accounts === undefined) return new Rejection('signature_mismatch', 'not ' + signature)",
      },
    },
  },
  'src/protocol/dedup-key.ts': {
    'key-without-account': {
      breaks: 'Two accounts that use the same event id share a key.',
      from: 0,
      edits: { '[prefix, toPart(id)]': '[namePart, toPart(id)]' },
    },
  },
  'src/receiver/create-receiver.ts': {
    'close-does-not-wait': {
      breaks: '`close()` resolves while events are under way.',
      from: 5,
      edits: { 'activity.drain(settings.clock, timeoutMs),': '' },
    },
  },
  'src/receiver/reporter.ts': {
    'hook-believed': {
      breaks: "What a hook of the app's throws reaches whoever made the delivery.",
      from: 0,
      edits: {
        '    } catch (error) {\n      this.#hookFailed(name, error)': '    } catch (error) {\n      throw error',
      },
    },
  },
}

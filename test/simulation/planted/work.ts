import type { PlantedFault } from './planted-fault.ts'

const RECEIVER = 'src/receiver/'

/** Faults of the work: handlers, marks, aborts and transactions. */
export const FAULTS_OF_THE_WORK: readonly PlantedFault[] = [
  {
    name: 'mark-before-the-work',
    breaks: 'A handler counts as finished as soon as it has begun.',
    from: 4,
    edits: [
      {
        file: `${RECEIVER}attempt.ts`,
        find: 'if (isWaiting || transaction?.isBegun) {',
        replace: 'if (isWaiting || transaction?.isBegun) {\n      this.#finished.push(name)',
      },
    ],
  },
  {
    name: 'marks-by-position',
    breaks: "A handler's finish mark stands under its position, which changes with a deployment.",
    from: 8,
    edits: [
      {
        file: `${RECEIVER}routes.ts`,
        find: '.map(({ name, order, handler }) => ({ name, order',
        replace: '.map(({ name, order, handler }, index) => ({ name: String(index), order',
      },
    ],
  },
  {
    name: 'marks-not-read',
    breaks: 'A retry runs every handler, also those that had finished.',
    from: 23,
    edits: [
      {
        file: `${RECEIVER}attempt.ts`,
        find: 'this.#finished.length === 0 ? route.handlers : route.handlers.filter(',
        replace: 'true ? route.handlers : route.handlers.filter(',
      },
    ],
  },
  {
    name: 'abort-never-raised',
    breaks: 'A handler that waits for its abort is never told of it.',
    from: 6,
    edits: [
      {
        file: `${RECEIVER}attempt.ts`,
        find: 'this.#controller?.abort(this.#abortReason)',
        replace: '',
      },
    ],
  },
  {
    name: 'abort-at-the-deadline',
    breaks: 'Handlers are aborted when their delivery has to be answered, so that late successes are thrown away.',
    from: 4,
    edits: [
      {
        file: `${RECEIVER}attempt.ts`,
        find: 'settings.clock.monotonic() + settings.handlerTimeoutMs, abort',
        replace: 'settings.clock.monotonic() + settings.deadlineMs, abort',
      },
    ],
  },
  {
    name: 'late-end-settles',
    breaks: 'The late end of handlers that were given up settles the event.',
    from: 19,
    edits: [
      {
        file: `${RECEIVER}attempt.ts`,
        find: '    if (this.#isOver) return // given up\n',
        replace: '',
      },
      {
        file: `${RECEIVER}attempt.ts`,
        find: 'if (--this.#pending === 0) this.#stopWaiting?.()',
        replace:
          'if (--this.#pending === 0) {\n      this.#stopWaiting?.()\n      if (this.#isOver) void this.#lease.complete()\n    }',
      },
    ],
  },
  {
    name: 'done-before-the-commit',
    breaks: 'A handler that does not wait for its transaction counts as finished before it is committed.',
    from: 9,
    theme: 'transactions',
    edits: [
      {
        file: `${RECEIVER}attempt.ts`,
        find: '        transaction.close()\n        await transaction.ended\n',
        replace: '        transaction.close()\n',
      },
    ],
  },
  {
    name: 'transaction-unwatched',
    breaks: 'A transaction that nobody waits for and that fails is an unhandled rejection.',
    from: 416,
    theme: 'transactions',
    edits: [
      {
        file: `${RECEIVER}context.ts`,
        find: 'ignoreRejection(ended)\n',
        replace: '\n',
      },
    ],
  },
  {
    name: 'transaction-not-rolled-back',
    breaks: 'The transaction of a handler that was given up is committed later.',
    from: 19,
    theme: 'transactions',
    edits: [
      {
        file: `${RECEIVER}context.ts`,
        find: 'this.#rollBack.abort(reason)',
        replace: '',
      },
    ],
  },
  {
    name: 'event-shared',
    breaks: 'The handlers of one event are given the same object.',
    from: 14,
    edits: [
      {
        file: `${RECEIVER}attempt.ts`,
        find: '(index === 0 && route.schema === undefined ? event : copy(event))',
        replace: '(index < 0 ? copy(event) : event)',
      },
    ],
  },
  {
    name: 'interceptor-believed',
    breaks: 'An interceptor that does not run its handler, or does not wait for it, acknowledges the event.',
    from: 11,
    edits: [
      {
        file: `${RECEIVER}intercept.ts`,
        find: 'if (isThenable(returned)) return endAfter(returned, end)',
        replace: 'return returned',
      },
    ],
  },
  {
    name: 'interceptor-runs-twice',
    breaks: 'An interceptor that calls run() twice runs its handler twice.',
    from: 2,
    edits: [
      {
        file: `${RECEIVER}intercept.ts`,
        find: 'ran ??= runOnce(',
        replace: 'ran = runOnce(',
      },
    ],
  },
]

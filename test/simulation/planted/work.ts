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
        file: `${RECEIVER}work.ts`,
        find: 'this.#awaitHandler(name, result)\n        return',
        replace: 'this.finished.push(name)\n        this.#awaitHandler(name, result)\n        return',
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
        find: 'if (registration.givenName !== undefined) return registration.givenName\n',
        replace: 'return String(this.#registrations.indexOf(registration))\n',
      },
    ],
  },
  {
    name: 'marks-not-read',
    breaks: 'A retry runs every handler, also those that had finished.',
    from: 11,
    edits: [
      {
        file: `${RECEIVER}work.ts`,
        find: 'this.#todo = this.finished.length === 0 ? handlers : handlers.filter(',
        replace: 'this.#todo = true ? handlers : handlers.filter(',
      },
    ],
  },
  {
    name: 'abort-never-raised',
    breaks: 'A handler that waits for its abort is never told of it.',
    from: 4,
    edits: [{ file: `${RECEIVER}work.ts`, find: 'this.#controller?.abort(this.#abortReason)', replace: '' }],
  },
  {
    name: 'abort-at-the-deadline',
    breaks: 'Handlers are aborted when their delivery has to be answered, so that late successes are thrown away.',
    from: 4,
    edits: [
      {
        file: `${RECEIVER}work.ts`,
        find: "this.#abort('handler_timeout'), this.#host.handlerTimeoutMs)",
        replace: "this.#abort('handler_timeout'), this.#host.deadlineMs)",
      },
    ],
  },
  {
    name: 'late-end-settles',
    breaks: 'The late end of handlers that were given up settles the event.',
    from: 19,
    edits: [
      {
        file: `${RECEIVER}work.ts`,
        find: "if (this.#isOver) return // abandoned: the event is somebody else's by now",
        replace: '',
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
        file: `${RECEIVER}context.ts`,
        find: 'this.#close()\n      await this.#transaction\n',
        replace: 'this.#close()\n',
      },
    ],
  },
  {
    name: 'transaction-unwatched',
    breaks: 'A transaction that nobody waits for and that fails is an unhandled rejection.',
    from: 416,
    theme: 'transactions',
    edits: [{ file: `${RECEIVER}context.ts`, find: 'transaction.catch(ignore)\n', replace: '\n' }],
  },
  {
    name: 'transaction-not-rolled-back',
    breaks: 'The transaction of a handler that was given up is committed later.',
    from: 19,
    theme: 'transactions',
    edits: [{ file: `${RECEIVER}context.ts`, find: 'this.#rollBack.abort(reason)', replace: '' }],
  },
]

import type { PlantedFault } from './planted-fault.ts'

const RECEIVER = 'src/receiver/'
const ENGINE = 'test/simulation/engine.ts'

/** Faults of handlers that take only the latest event of a record. */
export const FAULTS_OF_ORDER: readonly PlantedFault[] = [
  {
    name: 'order-by-a-failed-event',
    breaks: 'A newer event makes an older one skipped though its handler failed.',
    from: 23,
    edits: [
      {
        file: `${RECEIVER}attempt.ts`,
        find: 'else this.#failures.push({ name, ...failure })\n    if (--this.#pending',
        replace: 'else this.#failures.push({ name, ...failure })\n    this.#place(name)\n    if (--this.#pending',
      },
    ],
  },
  {
    name: 'order-skips-equal-times',
    breaks: 'An event is skipped for one of the same time.',
    from: 1,
    edits: [
      { file: `${RECEIVER}order.ts`, find: 'NEGATIVE_INFINITY) > this.#at', replace: 'NEGATIVE_INFINITY) >= this.#at' },
    ],
  },
  {
    name: 'order-without-positions',
    breaks: 'The store is never told that a handler has finished for a newer event.',
    from: 18,
    edits: [{ file: `${RECEIVER}attempt.ts`, find: 'this.#lease.place(position)', replace: 'void position' }],
  },
  {
    name: 'position-not-awaited',
    breaks: 'An event is done before the store has taken its positions.',
    from: 5080,
    edits: [
      {
        file: `${RECEIVER}lease.ts`,
        find: 'answers.some(isThenable) ? Promise.all(answers).then(goOn, fail) : goOn(answers)',
        replace: 'answers.some(isThenable) ? (void Promise.all(answers).catch(() => {}), call()) : goOn(answers)',
      },
    ],
  },
  {
    name: 'position-not-in-the-transaction',
    breaks: 'A transaction is committed without the position of its event.',
    from: 18,
    edits: [{ file: `${RECEIVER}lease.ts`, find: ', ...(position && { position })', replace: ', ...(position && {})' }],
  },
  {
    name: 'position-without-account',
    breaks: "An event of one account makes another account's event skipped.",
    from: 35,
    edits: [
      {
        file: `${RECEIVER}order.ts`,
        find: 'positionKey(receiverName, accountKey,',
        replace: "positionKey(receiverName, '',",
      },
    ],
  },
  {
    name: 'position-without-handler',
    breaks: 'A handler skips an event since another handler has finished for a newer one.',
    from: 23,
    edits: [
      {
        file: 'src/protocol/dedup-key.ts',
        find: 'digest([model, id, handler]',
        replace: 'digest([model, id]',
      },
    ],
  },
  {
    name: 'time-guessed',
    breaks: 'A time that says no zone, or is no day, is read all the same.',
    from: 27,
    edits: [
      {
        file: 'src/receiver/order.ts',
        find: 'if (year === undefined) return undefined',
        replace: 'if (year === undefined) return Date.parse(timestamp) || undefined',
      },
    ],
  },
  {
    name: 'outdated-event-committed',
    breaks: 'The engine commits the transaction of an event that a newer one has overtaken.',
    from: 340,
    edits: [
      {
        file: ENGINE,
        find: "    if (position !== undefined && this.#isPassed(position)) return 'event_outdated'\n",
        replace: '',
      },
    ],
  },
  {
    name: 'position-moved-back',
    breaks: 'The engine takes an older position for a newer one.',
    from: 699,
    edits: [{ file: ENGINE, find: 'if (this.#isPassed({ key, at })) return false\n', replace: '' }],
  },
]

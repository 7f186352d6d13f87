import type { FaultsByFile } from './planted-fault.ts'

/** Faults of handlers that take only the latest event of a record. */
export const FAULTS_OF_ORDER: FaultsByFile = {
  'src/receiver/order.ts': {
    'order-by-a-failed-event': {
      breaks: 'A newer event makes an older one skipped though its handler failed.',
      from: 4,
      edits: { 'return names.flatMap': 'return this.#names.flatMap' },
    },
    'order-skips-equal-times': {
      breaks: 'An event is skipped for one of the same time.',
      from: 1,
      edits: { 'NEGATIVE_INFINITY) > this.#at': 'NEGATIVE_INFINITY) >= this.#at' },
    },
    'position-without-account': {
      breaks: "An event of one account makes another account's event skipped.",
      from: 35,
      edits: { 'positionKey(receiverName, accountKey,': "positionKey(receiverName, ''," },
    },
    'time-guessed': {
      breaks: 'A time that says no zone, or is no day, is read all the same.',
      from: 27,
      edits: {
        'if (year === undefined) return undefined': 'if (year === undefined) return Date.parse(timestamp) || undefined',
      },
    },
  },
  'src/receiver/lease.ts': {
    'order-without-positions': {
      breaks: 'An event is done without the positions of its handlers.',
      from: 27,
      edits: { 'this.#token, positions, toDoneBy': 'this.#token, undefined, toDoneBy' },
    },
    'position-not-in-the-transaction': {
      breaks: 'A transaction is committed without the position of its event.',
      from: 340,
      edits: { ', ...(position && { position })': ', ...(position && {})' },
    },
  },
  'src/protocol/dedup-key.ts': {
    'position-without-handler': {
      breaks: 'A handler skips an event since another handler has finished for a newer one.',
      from: 23,
      edits: { 'digest([model, id, handler]': 'digest([model, id]' },
    },
  },
  'test/proofs/simulation/engine.ts': {
    'outdated-event-committed': {
      breaks: 'The engine commits the transaction of an event that a newer one has overtaken.',
      from: 340,
      edits: { "    if (position !== undefined && this.#isPassed(position)) return 'event_outdated'\n": '' },
    },
    'position-moved-back': {
      breaks: 'The engine takes an older position for a newer one.',
      from: 18,
      edits: { 'if (this.#isPassed(position)) continue\n': '' },
    },
  },
}

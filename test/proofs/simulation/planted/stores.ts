import type { FaultsByFile } from './planted-fault.ts'

/** Faults of stores: the simulated engine and the memory store. */
export const FAULTS_OF_STORES: FaultsByFile = {
  'adapters/stores/lost-claims.ts': {
    'lost-claim-kept': {
      breaks: 'A store does not give back a claim whose call failed though the engine took it.',
      from: 2023,
      edits: {
        'if (!this.#open.delete(open)) return\n          this.#lose(open)': 'if (!this.#open.delete(open)) return',
      },
    },
    'lost-claim-given-back-too-early': {
      breaks: 'A store gives a claim back before the engine has come to it, and not again.',
      from: 2023,
      edits: { '(isTaken && now >= heardAt)': 'isTaken' },
    },
    'silent-claim-kept': {
      breaks: 'A store does not give back a claim that was never answered.',
      from: 209,
      edits: { 'this.#open.delete(open)\n        this.#lose(open)': 'this.#open.delete(open)' },
    },
  },
  'test/proofs/simulation/engine.ts': {
    'token-not-compared-on-renew': {
      breaks: 'The engine renews a claim that another process holds.',
      from: 306,
      theme: 'contention',
      edits: {
        'if (this.#isHeldByAnother(entry, token) || this.#isDone(entry)) return false':
          'if (this.#isDone(entry)) return false',
      },
    },
    'token-not-compared-on-complete': {
      breaks: 'The engine lets a process complete what another one holds.',
      from: 64,
      theme: 'contention',
      edits: {
        'if (this.#isHeldByAnother(entry, token)) return false\n    entry.endsAt = Number.NEGATIVE_INFINITY\n    entry.doneUntil':
          'entry.endsAt = Number.NEGATIVE_INFINITY\n    entry.doneUntil',
      },
    },
    'token-not-compared-on-release': {
      breaks: 'The engine lets a process release what another one holds.',
      from: 5,
      theme: 'contention',
      edits: {
        'if (this.#isHeldByAnother(entry, token)) return false\n    entry.endsAt = Number.NEGATIVE_INFINITY\n    this.#keep':
          'entry.endsAt = Number.NEGATIVE_INFINITY\n    this.#keep',
      },
    },
    'done-forgotten-early': {
      breaks: 'The engine forgets after 20 seconds that an event is done.',
      from: 0,
      edits: { 'entry.doneUntil = this.#now() + this.retentionMs': 'entry.doneUntil = this.#now() + 20_000' },
    },
    'marks-forgotten': {
      breaks: 'The engine keeps no finish marks with a release.',
      from: 23,
      edits: {
        'entry.endsAt = Number.NEGATIVE_INFINITY\n    this.#keep(entry, marks)':
          'entry.endsAt = Number.NEGATIVE_INFINITY',
      },
    },
    'more-lost-than-the-last-moments': {
      breaks: 'An engine that restarts loses more than its last moments.',
      from: 78,
      edits: {
        'rewind(since: number): void {\n': 'rewind(given: number): void {\n    const since = given - 60_000\n',
      },
    },
    'row-kept-without-its-mark': {
      breaks: 'An engine that restarts loses the mark of a handler, and keeps its row.',
      from: 113,
      edits: { 'this.#note(write())': 'write()' },
    },
    'commit-not-fenced': {
      breaks: 'The engine commits a transaction of a process that lost its claim.',
      from: 695,
      theme: 'contention',
      edits: {
        "if (entry.lastClaim !== token) return 'lease_lost'\n": '',
        "if (this.#isDone(entry) || entry.marks.has(mark)) return 'lease_lost'\n": '',
      },
    },
  },
  'src/store/memory-store.ts': {
    'memory-store-drops-claims': {
      breaks: 'The memory store grants a claim that is held.',
      from: 186,
      edits: { 'if (lease !== undefined && lease.endsAt > now) return CLAIM_BUSY': '' },
    },
  },
}

import type { PlantedFault } from './planted-fault.ts'

const ENGINE = 'test/simulation/engine.ts'
const LOST_CLAIMS = 'adapters/stores/lost-claims.ts'

/** Faults of stores: the simulated engine and the memory store. */
export const FAULTS_OF_STORES: readonly PlantedFault[] = [
  {
    name: 'lost-claim-kept',
    breaks: 'A store does not give back a claim whose call failed though the engine took it.',
    from: 2023,
    edits: [
      {
        file: LOST_CLAIMS,
        find: 'if (!this.#open.delete(open)) return\n          this.#lose(open)',
        replace: 'if (!this.#open.delete(open)) return',
      },
    ],
  },
  {
    name: 'lost-claim-given-back-too-early',
    breaks: 'A store gives a claim back before the engine has come to it, and not again.',
    from: 2023,
    edits: [{ file: LOST_CLAIMS, find: '(isTaken && now >= heardAt)', replace: 'isTaken' }],
  },
  {
    name: 'silent-claim-kept',
    breaks: 'A store does not give back a claim that was never answered.',
    from: 209,
    edits: [
      {
        file: LOST_CLAIMS,
        find: 'this.#open.delete(open)\n        this.#lose(open)',
        replace: 'this.#open.delete(open)',
      },
    ],
  },
  {
    name: 'token-not-compared-on-renew',
    breaks: 'The engine renews a claim that another process holds.',
    from: 306,
    theme: 'contention',
    edits: [
      {
        file: ENGINE,
        find: 'if (this.#isHeldByAnother(entry, token) || this.#isDone(entry)) return false',
        replace: 'if (this.#isDone(entry)) return false',
      },
    ],
  },
  {
    name: 'token-not-compared-on-complete',
    breaks: 'The engine lets a process complete what another one holds.',
    from: 64,
    theme: 'contention',
    edits: [
      {
        file: ENGINE,
        find: 'if (this.#isHeldByAnother(entry, token)) return false\n    entry.endsAt = Number.NEGATIVE_INFINITY\n    entry.doneUntil',
        replace: 'entry.endsAt = Number.NEGATIVE_INFINITY\n    entry.doneUntil',
      },
    ],
  },
  {
    name: 'token-not-compared-on-release',
    breaks: 'The engine lets a process release what another one holds.',
    from: 98,
    theme: 'contention',
    edits: [
      {
        file: ENGINE,
        find: 'if (this.#isHeldByAnother(entry, token)) return false\n    entry.endsAt = Number.NEGATIVE_INFINITY\n    this.#keep',
        replace: 'entry.endsAt = Number.NEGATIVE_INFINITY\n    this.#keep',
      },
    ],
  },
  {
    name: 'done-forgotten-early',
    breaks: 'The engine forgets after 20 seconds that an event is done.',
    from: 0,
    edits: [
      {
        file: ENGINE,
        find: 'entry.doneUntil = this.#now() + this.retentionMs',
        replace: 'entry.doneUntil = this.#now() + 20_000',
      },
    ],
  },
  {
    name: 'marks-forgotten',
    breaks: 'The engine keeps no finish marks with a release.',
    from: 23,
    edits: [
      {
        file: ENGINE,
        find: 'entry.endsAt = Number.NEGATIVE_INFINITY\n    this.#keep(entry, marks)',
        replace: 'entry.endsAt = Number.NEGATIVE_INFINITY',
      },
    ],
  },
  {
    name: 'commit-not-fenced',
    breaks: 'The engine commits a transaction of a process that lost its claim.',
    from: 695,
    theme: 'contention',
    edits: [
      { file: ENGINE, find: "if (entry.lastClaim !== token) return 'lease_lost'\n", replace: '' },
      { file: ENGINE, find: "if (this.#isDone(entry) || entry.marks.has(mark)) return 'lease_lost'\n", replace: '' },
    ],
  },
  {
    name: 'memory-store-drops-claims',
    breaks: 'The memory store grants a claim that is held.',
    from: 186,
    edits: [
      {
        file: 'src/store/memory-store.ts',
        find: 'if (lease !== undefined && lease.endsAt > now) return CLAIM_BUSY',
        replace: '',
      },
    ],
  },
]

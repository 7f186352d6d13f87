import type { PlantedFault } from './planted-fault.ts'

const RECEIVER = 'src/receiver/'

/** Faults of claims: how they are taken, renewed and given back. */
export const FAULTS_OF_CLAIMS: readonly PlantedFault[] = [
  {
    name: 'claim-not-awaited',
    breaks: 'Handlers begin before the store has answered the claim.',
    from: 0,
    edits: [
      {
        file: `${RECEIVER}run.ts`,
        find: 'if (isThenable(claim)) return this.#awaitClaim(claim, askedAt)',
        replace: "if (isThenable(claim)) claim = { state: 'claimed', token: 'guessed', marks: [] }",
      },
    ],
  },
  {
    name: 'busy-answered-as-duplicate',
    breaks: 'An event that another process is handling is answered 200.',
    from: 1,
    edits: [
      {
        file: `${RECEIVER}run.ts`,
        find: 'return this.#pollLater()',
        replace: "return this.#end(toEventOutcome('duplicate', this.#event))",
      },
    ],
  },
  {
    name: 'renewal-too-late',
    breaks: "A claim is renewed at the lease's end instead of at a third of it.",
    from: 4,
    edits: [
      {
        file: `${RECEIVER}lease.ts`,
        find: 'this.#renewAt = askedAt + host.leaseMs / 3',
        replace: 'this.#renewAt = askedAt + host.leaseMs',
      },
      {
        file: `${RECEIVER}lease.ts`,
        find: 'this.#renewAt = clock.monotonic() + leaseMs / 3',
        replace: 'this.#renewAt = clock.monotonic() + leaseMs',
      },
    ],
  },
  {
    name: 'renewal-not-repeated',
    breaks: 'A claim is renewed once, and then no more.',
    from: 4,
    edits: [{ file: `${RECEIVER}lease.ts`, find: 'if (this.#isKept) arm()', replace: '' }],
  },
  {
    name: 'late-claim-kept',
    breaks: 'A claim that arrives when nobody waits for it any more is not given back.',
    from: 10,
    edits: [
      {
        file: `${RECEIVER}run.ts`,
        find: "if (isClaim(claim) && claim.state === 'claimed')",
        replace: "if (isClaim(claim) && claim.state === 'done')",
      },
    ],
  },
  {
    name: 'late-claim-renewed',
    breaks: 'A claim that arrives when nobody waits for it any more is renewed for ever.',
    from: 11,
    edits: [
      {
        file: `${RECEIVER}run.ts`,
        find: '.release(STORE_LIMIT_MS, claim.marks, ignore)',
        replace: '.keepAlive(claim.marks, ignore)',
      },
    ],
  },
  {
    name: 'released-without-marks',
    breaks: 'The handlers that finished are not told to the store with the release.',
    from: 23,
    edits: [
      {
        file: `${RECEIVER}lease.ts`,
        find: 'store.release(this.#key, this.#token, marks)',
        replace: 'store.release(this.#key, this.#token, [])',
      },
    ],
  },
  {
    name: 'release-not-repeated',
    breaks: 'A release that the store did not take is not offered again.',
    from: 196,
    edits: [
      {
        file: `${RECEIVER}lease.ts`,
        find: "keepTrying(this.#host, 'store.release', release",
        replace: "void ((..._unused) => {})(this.#host, 'store.release', release",
      },
    ],
  },
  {
    name: 'complete-not-repeated',
    breaks: 'A completion that the store did not take is not offered again.',
    from: 32,
    edits: [
      {
        file: `${RECEIVER}run.ts`,
        find: "keepTrying(\n      this.#host,\n      'store.complete',",
        replace: "void ((..._unused) => this.#end(handled))(\n      this.#host,\n      'store.complete',",
      },
    ],
  },
]

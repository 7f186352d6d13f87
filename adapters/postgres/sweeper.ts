import { checkOut, type PgPool, runStatement } from './pool.ts'
import { type Statements, wasFullSweep } from './statements.ts'

const EVERY_MS = 60_000
const NEXT_BATCH_MS = 100

/** Removes rows that are older than the retention, a batch at a time, while the store is in use. What another process sweeps is left to it. */
export class Sweeper {
  readonly #pool: PgPool
  readonly #statements: Statements
  #nextAt = 0
  #isSweeping = false

  constructor(pool: PgPool, statements: Statements) {
    this.#pool = pool
    this.#statements = statements
  }

  /** To be called now and then; it mostly does nothing. */
  nudge(): void {
    const now = performance.now()
    if (this.#isSweeping || now < this.#nextAt || this.#pool.ending) return
    // Not all processes at the same moment.
    this.#nextAt = now + EVERY_MS * (1 + Math.random())
    this.#isSweeping = true
    this.#sweep()
      .catch(() => false) // The next one may go better, and whatever is wrong shows at the claims.
      .then((isFull) => {
        this.#isSweeping = false
        if (isFull) this.#goOn()
      })
  }

  #goOn(): void {
    this.#nextAt = 0
    setTimeout(() => this.nudge(), NEXT_BATCH_MS).unref()
  }

  async #sweep(): Promise<boolean> {
    const { client, giveBack } = await checkOut(this.#pool)
    let isSound = false
    try {
      const rows = await runStatement(client, this.#statements.sweep, [])
      isSound = true
      return wasFullSweep(rows)
    } finally {
      giveBack(isSound)
    }
  }
}

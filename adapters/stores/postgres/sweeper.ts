import { runStatement } from './pool.ts'
import type { SharedPool } from './shared-pool.ts'
import { wasFullSweep } from './statements.ts'
import type { Table } from './table.ts'

const EVERY_MS = 60_000
const NEXT_BATCH_MS = 100

/** Removes rows that are older than the retention in batches, while the store is in use. Skips rows that another process sweeps. */
export class Sweeper {
  readonly #pool: SharedPool
  readonly #table: Table
  #nextAt = 0
  #isSweeping = false

  constructor(pool: SharedPool, table: Table) {
    this.#pool = pool
    this.#table = table
  }

  /** Call it periodically; it mostly does nothing. */
  nudge(): void {
    const now = performance.now()
    if (this.#isSweeping || now < this.#nextAt || this.#pool.isEnding) return
    // Not all processes sweep at the same moment.
    this.#nextAt = now + EVERY_MS * (1 + Math.random())
    this.#isSweeping = true
    this.#sweep()
      .catch(() => false) // The next sweep may succeed, and a lasting fault appears at the claims.
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
    const { sweep } = await this.#table.statements()
    return wasFullSweep(await this.#pool.use((client) => runStatement(client, sweep)))
  }
}

import type { Row } from '../../emulator/contract.ts'

/** Limit of finished rows; the emulator keeps as many deliveries. */
export const MOST_ROWS = 10_000

/** The deliveries that the page knows. */
export class Rows {
  /** In the order of their creation, the newest first: another array after each change. */
  all: readonly Row[] = []
  /** A change replaces the row, and never changes it. */
  readonly #byId = new Map<string, Row>()

  find(id: string): Row | undefined {
    return this.#byId.get(id)
  }

  /** Removes all rows, and stores these. */
  replace(rows: readonly Row[]): void {
    this.#byId.clear()
    this.put(rows)
  }

  /** Stores new and changed rows, in any order. */
  put(rows: readonly Row[]): void {
    for (const row of rows) this.#byId.set(row.id, row)
    this.all = [...this.#byId.values()].sort((one, other) => other.made - one.made)
    const over = this.all.length - MOST_ROWS
    if (over > 0) {
      // Drops the oldest finished rows, as the emulator does.
      for (const { id } of this.all.filter(({ status }) => status !== 'pending').slice(-over)) this.#byId.delete(id)
      this.all = this.all.filter(({ id }) => this.#byId.has(id))
    }
  }
}

import type { Row } from '../../emulator/contract.ts'

/** Limit of rows; the emulator keeps as many deliveries. */
const MOST_ROWS = 10_000

/** A row of the list with its place in it. */
export interface PlacedRow extends Row {
  /** Position in the list. Newer rows have a higher one. */
  readonly order: number
  /** True if the emulator was restarted since, and no longer knows the delivery. */
  readonly isGone: boolean
}

/** All deliveries that the page knows. */
export class Rows {
  #byId = new Map<string, PlacedRow>()
  #sorted: readonly PlacedRow[] | undefined = []
  #next = 1
  #before = 0

  /** Newest first. */
  get all(): readonly PlacedRow[] {
    this.#sorted ??= [...this.#byId.values()].sort((a, b) => b.order - a.order)
    return this.#sorted
  }

  get size(): number {
    return this.#byId.size
  }

  /** Order of the newest row. */
  get lastOrder(): number {
    return this.#next - 1
  }

  find(id: string): PlacedRow | undefined {
    return this.#byId.get(id)
  }

  /** Stores new and changed rows. @param rows oldest first */
  put(rows: readonly Row[]): void {
    this.#take(rows, () => this.#next++)
  }

  /** Stores rows that are older than all others. @param rows newest first */
  putOlder(rows: readonly Row[]): void {
    this.#take(rows, () => this.#before--)
  }

  /** Marks the rows that the emulator does not know after a restart, and removes those that it has dropped. */
  keepOnly(ids: ReadonlySet<string>, isNewRun: boolean): void {
    for (const [id, row] of this.#byId) {
      if (ids.has(id)) continue
      if (isNewRun || row.isGone) this.#byId.set(id, { ...row, isGone: true, nextAt: null })
      else this.#byId.delete(id)
    }
    this.#sorted = undefined
  }

  clear(): void {
    this.#byId.clear()
    this.#sorted = undefined
  }

  #take(rows: readonly Row[], nextOrder: () => number): void {
    for (const row of rows) {
      const order = this.#byId.get(row.id)?.order ?? nextOrder()
      this.#byId.set(row.id, { ...row, order, isGone: false })
    }
    this.#sorted = undefined
    this.#dropOldest()
  }

  /** Drops the oldest finished rows, as the emulator does. */
  #dropOldest(): void {
    let over = this.#byId.size - MOST_ROWS
    if (over <= 0) return
    for (const { id, status, isGone } of this.all.toReversed()) {
      if (over <= 0) break
      if (status === 'pending' && !isGone) continue
      this.#byId.delete(id)
      over--
    }
    this.#sorted = undefined
  }
}

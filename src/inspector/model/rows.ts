import type { Row } from '../shapes.ts'

/** As many as the emulator keeps. */
const MOST_ROWS = 10_000

/** A row of the list with its place in it. */
export interface PlacedRow extends Row {
  /** Grows with the age of the page: rows that came later have a higher one. */
  readonly order: number
  /** The emulator was restarted since, and does not know it any more. */
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

  /** The place of the newest. */
  get lastOrder(): number {
    return this.#next - 1
  }

  find(id: string): PlacedRow | undefined {
    return this.#byId.get(id)
  }

  /** Takes over rows that are new or have changed, in the order in which they were made. */
  put(rows: readonly Row[]): void {
    this.#take(rows, () => this.#next++)
  }

  /** Takes over what was made before all that is known. @param rows newest first */
  putOlder(rows: readonly Row[]): void {
    this.#take(rows, () => this.#before--)
  }

  /** Marks, or removes, what the emulator does not know. */
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

  /** As the emulator does: what is finished goes first. */
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

import { readAddress } from './address.ts'
import { readFilter } from './filter.ts'
import type { PlacedRow } from './rows.ts'
import { remember, store } from './store.ts'

/** The list as the page shows it. */
export interface ShownList {
  readonly rows: readonly PlacedRow[]
  /** Rows that match and are held back while the user reads. */
  readonly fresh: number
  /** Rows that were cleared away. */
  readonly cleared: number
  readonly total: number
  /** Words of the filter that mean nothing. */
  readonly unknown: readonly string[]
}

/** The second of the clock if the filter depends on it, as `since:10m` does; 0 otherwise. */
export function readFilterTime(): number {
  return /\d[smhd]\b/.test(readAddress().query) ? Math.floor(store.now() / 1_000) : 0
}

const readShownFilter = remember(
  () => [readAddress().query, store.state?.webhooks, store.isUtc, readFilterTime()],
  () => readFilter(readAddress().query, { urlOf: (id) => store.urlOf(id), now: store.now(), isUtc: store.isUtc }),
)

/** The rows that match the filter. While the user reads, the list keeps those that it has, and no other row comes in. */
export const listShown: () => ShownList = remember(
  () => [store.rows.version, readShownFilter(), store.held, store.cleared, store.pinned],
  () => {
    const { held, pinned, rows: known } = store
    const { test, unknown } = readShownFilter()
    const rows: PlacedRow[] = []
    let [fresh, cleared] = [0, 0]
    for (const row of known.all) {
      if (store.cleared.has(row.id) && !pinned.has(row.id)) cleared++
      else if (held?.has(row.id)) rows.push(row)
      else if (!test(row)) continue
      else if (held !== undefined) fresh++
      else rows.push(row)
    }
    return { rows, fresh, cleared, total: known.size - cleared, unknown }
  },
)

/** Keeps the list as it is, because the user reads it. */
export function hold(): void {
  if (store.held === undefined) store.set({ held: new Set(listShown().rows.map(({ id }) => id)) })
}

/** Shows new rows again. */
export function release(): void {
  if (store.held !== undefined) store.set({ held: undefined })
}

/** Puts the cursor on a row, and holds the list still. */
export function select(id: string | undefined): void {
  store.set({ cursor: id })
  if (id !== undefined) hold()
}

/** Number of failed deliveries that can be retried by hand. */
export const countFailed: () => number = remember(
  () => [store.rows.version],
  () => store.rows.all.reduce((sum, row) => sum + Number(isFailed(row)), 0),
)

/** A cause of failures, with the failed deliveries. */
export interface FailureGroup {
  readonly key: string
  readonly webhook: string
  readonly result: string
  readonly code: string | null
  readonly note: string | null
  readonly rows: readonly PlacedRow[]
}

/** A delivery that was resent by hand is left out: it is such an attempt itself. */
function isFailed({ status, isGone, resendOf }: PlacedRow): boolean {
  return status === 'failed' && !isGone && resendOf === null
}

/** Failed deliveries of the list by webhook and error, the largest group first. */
export function groupFailures(): readonly FailureGroup[] {
  const groups = new Map<string, FailureGroup & { rows: PlacedRow[] }>()
  for (const row of listShown().rows.filter(isFailed)) {
    const { webhook, last, note } = row
    const [result, code] = [last?.result ?? '', last?.code ?? null]
    const key = JSON.stringify([webhook, note, result, code])
    const group = groups.get(key) ?? { key, webhook, result, code, note, rows: [] }
    group.rows.push(row)
    groups.set(key, group)
  }
  return [...groups.values()].sort((a, b) => b.rows.length - a.rows.length)
}

/** Reason why a delivery cannot be retried by hand; undefined if it can. */
export function whyNotRetried(row: PlacedRow): string | undefined {
  const why = { pending: 'the service still retries it', success: 'already acknowledged', failed: undefined }
  return whyNotResent(row) ?? why[row.status]
}

/** Reason why a delivery cannot be resent; undefined if it can. */
export function whyNotResent({ isGone, webhook }: PlacedRow): string | undefined {
  if (isGone) return 'of a previous run'
  return store.webhook(webhook) === undefined ? 'the webhook is deleted' : undefined
}

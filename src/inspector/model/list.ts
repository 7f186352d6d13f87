import { readAddress } from './address.ts'
import { readFilter } from './filter.ts'
import { page } from './page-model.ts'
import type { PlacedRow } from './rows.ts'
import { ui } from './ui.ts'

/** The list as the page shows it. */
export interface ShownList {
  readonly rows: readonly PlacedRow[]
  /** New rows that are held back. */
  readonly fresh: number
  /** Rows that were cleared away. */
  readonly cleared: number
  readonly total: number
}

/** The rows that match the filter, without those that arrived while the user reads. */
export function listShown(): ShownList {
  const { query } = readAddress()
  const matches = readFilter(query, (id) => page.urlOf(id), page.now())
  const clearedTo = page.rows.find(ui.cleared ?? '')?.order
  const rows: PlacedRow[] = []
  let [fresh, cleared] = [0, 0]
  for (const row of page.rows.all) {
    if (clearedTo !== undefined && row.order <= clearedTo && !ui.pinned.has(row.id)) cleared++
    else if (!matches(row)) continue
    else if (ui.held !== undefined && row.order > ui.held) fresh++
    else rows.push(row)
  }
  return { rows, fresh, cleared, total: page.rows.size - cleared }
}

/** A cause of failures, with the failed deliveries. */
export interface FailureGroup {
  readonly key: string
  readonly webhook: string
  readonly result: string
  readonly code: string | null
  readonly note: string | null
  readonly rows: readonly PlacedRow[]
}

/** Failed deliveries that can be retried by hand. A delivery that was resent by hand is left out: it is such an attempt itself. */
export function listFailed(): readonly PlacedRow[] {
  return page.rows.all.filter(({ status, isGone, resendOf }) => status === 'failed' && !isGone && resendOf === null)
}

/** Failed deliveries by webhook and error, the largest group first. */
export function groupFailures(): readonly FailureGroup[] {
  const groups = new Map<string, FailureGroup & { rows: PlacedRow[] }>()
  for (const row of listFailed()) {
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
  return page.webhook(webhook) === undefined ? 'the webhook is deleted' : undefined
}

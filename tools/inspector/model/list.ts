import type { Found, Row } from '../../emulator/contract.ts'
import { readAddress } from './address.ts'
import { api } from './api.ts'
import { listTexts, readFilter, resultOf, writeWord } from './filter.ts'
import { remember, store } from './store.ts'

/** The list as the page shows it. */
export interface ShownList {
  readonly rows: readonly Row[]
  /** Rows that match and are held back while the user reads. */
  readonly fresh: number
  readonly total: number
  /** Words of the filter that mean nothing. */
  readonly unknown: readonly string[]
}

/** The second of the clock if the filter depends on it, as `since:10m` does; 0 otherwise. */
export function readFilterTime(): number {
  return /\d[smhd]\b/.test(readAddress().query) ? Math.floor(store.now() / 1_000) : 0
}

/** The present filter, or without its status. */
function rememberFilter(toQuery: (query: string) => string) {
  return remember(
    () => [readAddress().query, store.state?.webhooks, store.isUtc, store.found, readFilterTime()],
    () =>
      readFilter(toQuery(readAddress().query), {
        urlOf: (id) => store.urlOf(id),
        hasText: (id, text) => store.found.get(text)?.ids.has(id) === true,
        now: store.now(),
        isUtc: store.isUtc,
      }),
  )
}
const readShownFilter = rememberFilter((query) => query)
const readAnyStatus = rememberFilter((query) => writeWord(query, 'status', undefined))

/** The rows that match the filter. While the user reads, the list keeps those that it has, and no other row comes in. */
export const listShown: () => ShownList = remember(
  () => [store.rows.all, readShownFilter(), store.held],
  () => {
    const { test, unknown } = readShownFilter()
    const matching = store.rows.all.filter((row) => store.held?.has(row.id) || test(row))
    const rows = matching.filter(({ id }) => store.held?.has(id) !== false)
    return { rows, fresh: matching.length - rows.length, total: store.rows.all.length, unknown }
  },
)

/** Searches bodies and answers for the texts of the filter, and later in those that changed since. */
export async function search(): Promise<void> {
  for (const text of listTexts(readAddress().query)) {
    const before = store.found.get(text)
    const { ids, change } = await api<Found>(
      `GET search?${new URLSearchParams({ text, after: `${before?.change ?? 0}` })}`,
    )
    if (before === undefined || ids.length > 0)
      store.set({ found: new Map(store.found).set(text, { ids: new Set([...(before?.ids ?? []), ...ids]), change }) })
  }
}

/** Keeps the list as it is, because the user reads it. */
export function hold(): void {
  if (store.held === undefined) store.set({ held: new Set(listShown().rows.map(({ id }) => id)) })
}

/** Shows new rows again. */
export function release(): void {
  if (store.held !== undefined) store.set({ held: undefined })
}

/** Number of failed deliveries, whatever the filter is. */
export const countFailed: () => number = remember(
  () => [store.rows.all],
  () => store.rows.all.filter(({ status }) => status === 'failed').length,
)

/** Number of deliveries of each result, of those that match the filter but for its status. */
export const countResults: () => Readonly<Record<ReturnType<typeof resultOf>, number>> = remember(
  () => [store.rows.all, readAnyStatus()],
  () => {
    const counts = { success: 0, pending: 0, retrying: 0, failed: 0 }
    for (const row of store.rows.all.filter(readAnyStatus().test)) counts[resultOf(row)]++
    return counts
  },
)

/** Deliveries of the list whose last attempt has failed, by webhook and cause: the largest group first. */
export function groupFailures(): readonly (readonly [Row, ...Row[]])[] {
  const groups = new Map<string, [Row, ...Row[]]>()
  for (const row of listShown().rows) {
    if (row.status === 'success' || (row.note === null && row.last === null)) continue
    const key = JSON.stringify([row.webhook, row.note, row.last?.result, row.last?.code, row.signing])
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [row])
    else group.push(row)
  }
  return [...groups.values()].sort((a, b) => b.length - a.length)
}

/** Reason why a delivery cannot be retried by hand; undefined if it can. */
export function whyNotRetried(row: Row): string | undefined {
  const why = { pending: 'still retried by the service', success: 'already acknowledged', failed: undefined }
  return whyNotResent(row) ?? (row.resendOf === null ? why[row.status] : 'resent by hand')
}

/** Reason why a delivery cannot be resent; undefined if it can. */
export function whyNotResent({ webhook }: Row): string | undefined {
  return store.webhook(webhook) === undefined ? 'the webhook is deleted' : undefined
}

import type { Found, Row } from '../../emulator/contract.ts'
import { readAddress } from './address.ts'
import { api } from './api.ts'
import { listTexts, readFilter, writeWord } from './filter.ts'
import { causeOf, type Status, statusOf } from './outcome.ts'
import { remember, store } from './store.ts'

/** The list as the page shows it. */
export interface ShownList {
  readonly rows: readonly Row[]
  /** Number of new rows that match, and are held back while the list is scrolled. */
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
        statusOf,
        causeOf,
        now: store.now(),
        isUtc: store.isUtc,
      }),
  )
}
const readShownFilter = rememberFilter((query) => query)
const readAnyStatus = rememberFilter((query) => writeWord(query, 'status', undefined))

/** The rows that match the filter, without those that came in since the list was scrolled. */
export const listShown: () => ShownList = remember(
  () => [store.rows.all, readShownFilter(), store.heldFrom],
  () => {
    const { test, unknown } = readShownFilter()
    const matching = store.rows.all.filter(test)
    const rows = matching.filter(({ made }) => made <= store.heldFrom)
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

/** Holds new rows back, because the list is scrolled. */
export function hold(): void {
  if (store.heldFrom === Number.POSITIVE_INFINITY) store.set({ heldFrom: store.rows.all[0]?.made ?? 0 })
}

/** Shows new rows again. */
export function release(): void {
  if (store.heldFrom !== Number.POSITIVE_INFINITY) store.set({ heldFrom: Number.POSITIVE_INFINITY })
}

/** Number of deliveries of each status. */
type Counts = Readonly<Record<Status, number>>

function countBy(listInputs: () => readonly unknown[], test: (row: Row) => boolean): () => Counts {
  return remember(
    () => [store.rows.all, store.state?.webhooks, ...listInputs()],
    () => {
      const counts = { dead: 0, failed: 0, retrying: 0, pending: 0, success: 0 }
      for (const row of store.rows.all) if (test(row)) counts[statusOf(row)]++
      return counts
    },
  )
}

/** Counts all deliveries, whatever the filter is. */
export const countAll: () => Counts = countBy(
  () => [],
  () => true,
)

/** Counts the deliveries that match the filter but for its status. */
export const countMatching: () => Counts = countBy(
  () => [readAnyStatus()],
  (row) => readAnyStatus().test(row),
)

/** The failed deliveries of the list by cause: the largest group first, the newest of each first. */
export function groupFailures(): readonly (readonly [cause: string, rows: readonly Row[]])[] {
  const groups = new Map<string, Row[]>()
  for (const row of listShown().rows) {
    const cause = causeOf(row)
    if (cause === undefined) continue
    const group = groups.get(cause)
    if (group === undefined) groups.set(cause, [row])
    else group.push(row)
  }
  return [...groups].sort(([, a], [, b]) => b.length - a.length)
}

import type { Found, Row } from '../../emulator/contract.ts'
import { readAddress } from './address.ts'
import { api } from './api.ts'
import { listTexts, readFilter, writeWord } from './filter.ts'
import { hasInbox } from './inbox.ts'
import { causeOf, outcomeOf, statusOf } from './outcome.ts'
import type { Status } from './outcome-words.ts'
import { remember, store } from './store.ts'

export interface ShownList {
  readonly rows: readonly Row[]
  /** Number of new rows that match, and are held back while the list is scrolled. */
  readonly fresh: number
  readonly total: number
  readonly unknown: readonly string[]
}

function listRows(): readonly Row[] {
  return readAddress().screen !== 'inbox' ? store.rows.all : (hasInbox() && store.inbox.rows) || NONE
}

const NONE: readonly Row[] = []

/** The second of the clock if the filter depends on it, as `since:10m` does; 0 otherwise. */
function readFilterTime(): number {
  return /\d[smhd]\b/.test(readAddress().query) ? Math.floor(store.now() / 1_000) : 0
}

/** The present filter, or without its status. */
function rememberFilter(toQuery: (query: string) => string) {
  return remember(
    () => [readAddress().query, readAddress().screen, store.state?.webhooks, store.found, readFilterTime()],
    () =>
      readFilter(toQuery(readAddress().query), {
        urlOf: (id) => store.urlOf(id),
        // The texts of an inbox are not searched.
        ...(readAddress().screen === 'deliveries' && {
          hasText: (id: string, text: string) => store.found.get(text)?.ids.has(id) === true,
        }),
        outcomeOf,
        causeOf,
        now: store.now(),
      }),
  )
}
const readShownFilter = rememberFilter((query) => query)
const readAnyStatus = rememberFilter((query) => writeWord(query, 'status', undefined))

/** The rows that match the filter, without those that came in since the list was scrolled. */
export const listShown: () => ShownList = remember(
  () => [listRows(), readShownFilter(), store.heldFrom],
  () => {
    const { test, unknown } = readShownFilter()
    const all = listRows()
    const matching = all.filter(test)
    const rows = matching.filter(({ made }) => made <= store.heldFrom)
    return { rows, fresh: matching.length - rows.length, total: all.length, unknown }
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

export function hold(): void {
  if (store.heldFrom === Number.POSITIVE_INFINITY) store.set({ heldFrom: store.rows.all[0]?.made ?? 0 })
}

export function release(): void {
  if (store.heldFrom !== Number.POSITIVE_INFINITY) store.set({ heldFrom: Number.POSITIVE_INFINITY })
}

type Counts = Readonly<Record<Status, number>>

function countBy(list: () => readonly Row[], readTest?: () => (row: Row) => boolean): () => Counts {
  return remember(
    () => [list(), store.state?.webhooks, readTest?.()],
    () => {
      const counts = { dead: 0, failed: 0, retrying: 0, pending: 0, success: 0 }
      const test = readTest?.()
      for (const row of list()) if (!test || test(row)) counts[statusOf(row)]++
      return counts
    },
  )
}

export const countAll: () => Counts = countBy(() => store.rows.all)

export const countMatching: () => Counts = countBy(listRows, () => readAnyStatus().test)

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

import type { Batch, EmulatorState, Row, RowPage } from '../../emulator/contract.ts'
import { api } from './api.ts'
import { MOST_ROWS, Rows, store } from './store.ts'

const ASK_EVERY_MS = 500
const STOPPED_AFTER_MS = 10_000
/** Rows of the first page, which are drawn without waiting for the others, and of each page after it. */
const FIRST_ROWS = 100
const MORE_ROWS = 2_000

/** Position in the emulator's changes. Undefined until the first rows are loaded, and after deliveries were removed or the emulator was restarted. */
let position: string | undefined
let lostAt: number | undefined
let oldest: number | undefined

/** Loads all rows, page by page, then what has changed, again and again. Streams of many tabs would use up the six connections that a browser opens to a host. */
export async function connect(): Promise<void> {
  let link: typeof store.link = 'live'
  try {
    if (position === undefined) show(await api<RowPage>(`GET rows?limit=${FIRST_ROWS}`))
    else if (oldest === undefined) await take(await api<Batch>(`GET changes?after=${position}`))
    else put((await api<RowPage>(`GET rows?limit=${MORE_ROWS}&before=${oldest}`)).rows, MORE_ROWS)
    // The clock and the faults change without a message.
    if (store.dialog !== undefined && !document.hidden) await reloadState()
    lostAt = undefined
  } catch {
    lostAt ??= performance.now()
    link = performance.now() - lostAt < STOPPED_AFTER_MS ? 'reconnecting' : 'stopped'
  }
  if (store.link !== link) store.set({ link })
  setTimeout(connect, oldest === undefined || link !== 'live' ? ASK_EVERY_MS : 0)
}

let asked = 0
let shown = 0

/** Loads webhooks, faults and settings again. An answer that a later one has overtaken is old. */
export async function reloadState(): Promise<void> {
  const number = ++asked
  const state = await api<EmulatorState>('GET state')
  if (number < shown) return
  shown = number
  store.set({ state })
}

function show({ cursor, now, rows, state, total }: RowPage): void {
  position = cursor
  store.rows = new Rows()
  put(rows, FIRST_ROWS)
  store.set({ state, total, found: new Map(), heldFrom: Number.POSITIVE_INFINITY })
  store.setNow(now)
}

/** Stores a page of rows: older ones are left if it is full. */
function put(rows: readonly Row[], limit: number): void {
  store.rows.put(rows)
  oldest = rows.length === limit && store.rows.all.length < MOST_ROWS ? rows.at(-1)?.made : undefined
  store.changed()
}

async function take({ cursor, now, total, rows, warnings, isStateNew, mustReload }: Batch): Promise<void> {
  if (isStateNew && !mustReload) await reloadState()
  position = mustReload ? undefined : cursor
  for (const warning of warnings) store.say(warning, true)
  store.total = total
  store.setNow(now)
  if (rows.length > 0) store.rows.put(rows)
  store.changed()
}

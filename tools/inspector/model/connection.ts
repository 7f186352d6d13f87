import type { Batch, EmulatorState, RowPage } from '../../emulator/contract.ts'
import { api } from './api.ts'
import { store } from './store.ts'

const ASK_EVERY_MS = 500
const STOPPED_AFTER_MS = 10_000
const FIRST_ROWS = 100

/** Position in the emulator's changes. Undefined until everything is loaded, and after deliveries were removed or the emulator was restarted. */
let position: string | undefined
let lostAt: number | undefined
/** True until all rows are loaded. */
let isPartial = false

/** Loads everything, then what has changed, again and again. Streams of many tabs would use up the six connections that a browser opens to a host. */
export async function connect(): Promise<void> {
  let link: typeof store.link = 'live'
  try {
    if (position !== undefined) await take(await api<Batch>(`GET changes?after=${position}`))
    // Ten thousand rows take a while: the first ones are there before.
    if (store.state === undefined) show(await api<RowPage>(`GET rows?limit=${FIRST_ROWS}`))
    if (position === undefined || isPartial) show(await api<RowPage>('GET rows'))
    // The clock and the faults change without a message.
    if (store.dialog?.kind === 'form' && !document.hidden) await reloadState()
    lostAt = undefined
  } catch {
    lostAt ??= performance.now()
    link = performance.now() - lostAt < STOPPED_AFTER_MS ? 'reconnecting' : 'stopped'
  }
  if (store.link !== link) store.set({ link })
  setTimeout(connect, ASK_EVERY_MS)
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
  isPartial = rows.length === FIRST_ROWS && total > FIRST_ROWS
  store.rows.replace(rows)
  store.set({ state, total, found: new Map(), heldFrom: Number.POSITIVE_INFINITY })
  store.setNow(now)
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

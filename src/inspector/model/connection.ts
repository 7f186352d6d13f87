import type { ApiCall, Batch, EmulatorState, RowPage } from '../../emulator/contract.ts'
import { readAddress } from './address.ts'
import { api } from './api.ts'
import { store } from './store.ts'

/** The stream sends a message at least every 5 s. */
const SILENT_AFTER_MS = 12_000
const POLL_AFTER_MS = 10_000
const POLL_EVERY_MS = 3_000
const RECONNECT_MS = 1_000
const FIRST_ROWS = 300
const MOST_CALLS = 500
/** Number of tabs that have a stream; further ones ask every second. A browser opens six connections to a host, and calls need some. */
const MOST_STREAMS = 4

/** Position in the emulator's changes, from which the next stream begins. Undefined until the list is loaded. */
let position: string | undefined
let stream: EventSource | undefined
let hasTurn = false
let isLoading = false
/** True if deliveries were removed while the page loads. */
let mustLoad = false
let heardAt = performance.now()
let lostAt: number | undefined = performance.now()
let askedAt = 0
let isAsking = false

/** Connects the page, and keeps it connected. */
export function connect(): void {
  load().then(follow, () => {})
  setInterval(watch, 1_000)
}

/** Loads everything: at the start, and after deliveries were removed or the emulator was restarted. */
async function load(): Promise<void> {
  mustLoad = true
  if (isLoading) return
  isLoading = true
  try {
    while (mustLoad) {
      mustLoad = false
      await loadOnce()
    }
  } finally {
    isLoading = false
  }
}

async function loadOnce(): Promise<void> {
  const [state, newest, calls] = await Promise.all([
    api<EmulatorState>('GET state'),
    api<RowPage>(store.rows.size === 0 ? `GET rows?limit=${FIRST_ROWS}` : 'GET rows'),
    api<readonly ApiCall[]>('GET calls'),
  ])
  const isNewRun = store.state !== undefined && store.state.bootId !== newest.bootId
  const isWhole = store.rows.size > 0
  position = newest.cursor
  Object.assign(store, { state, calls, total: newest.total })
  store.setNow(newest.now)
  if (isWhole) store.rows.keepOnly(new Set(newest.rows.map(({ id }) => id)), newest.change, isNewRun)
  store.rows.put(newest.rows)
  store.changed()
  const oldest = newest.rows.at(-1)
  if (isWhole || oldest === undefined || newest.total === newest.rows.length) return
  store.rows.put((await api<RowPage>(`GET rows?before=${oldest.id}`)).rows)
  store.changed()
}

/** Loads webhooks, faults and settings again. */
export async function reloadState(): Promise<void> {
  store.set({ state: await api<EmulatorState>('GET state') })
}

/** Opens a stream from the present position, if fewer tabs have one than may. */
async function follow(): Promise<void> {
  hasTurn ||= await takeTurn()
  if (!hasTurn) return ask()
  stream?.close()
  const opened = new EventSource(`/_emulator/stream?form=rows&after=${position}`)
  stream = opened
  opened.addEventListener('ready', becomeLive)
  opened.addEventListener('batch', ({ data }) => {
    becomeLive()
    take(JSON.parse(data))
  })
  opened.addEventListener('error', () => {
    if (stream === opened) reopen()
  })
}

/** Returns true if this tab may have a stream, until it is closed. Without locks, outside of a secure context, each tab may. */
async function takeTurn(): Promise<boolean> {
  if (!('locks' in navigator)) return true
  for (let n = 1; n <= MOST_STREAMS; n++) {
    const isTaken = await new Promise<boolean>((resolve) => {
      navigator.locks.request(`postern-stream-${n}`, { ifAvailable: true }, (lock) => {
        resolve(lock !== null)
        return lock === null ? undefined : new Promise(() => {})
      })
    })
    if (isTaken) return true
  }
  return false
}

function reopen(): void {
  stream?.close()
  stream = undefined
  lostAt ??= performance.now()
  if (store.link !== 'polling' && store.link !== 'stopped') store.set({ link: 'reconnecting' })
  setTimeout(() => stream === undefined && follow(), RECONNECT_MS)
}

function becomeLive(): void {
  heardAt = performance.now()
  lostAt = undefined
  if (store.link !== 'live') store.set({ link: 'live' })
}

/** Asks for what has changed, without a stream. */
async function ask(): Promise<void> {
  if (isAsking) return
  isAsking = true
  askedAt = performance.now()
  try {
    if (position === undefined) await load()
    else take(await api<Batch>(`GET changes?after=${position}`))
    if (!hasTurn) becomeLive()
    else if (lostAt !== undefined) store.set({ link: 'polling' })
  } catch {
    lostAt ??= performance.now()
    store.set({ link: performance.now() - lostAt < POLL_AFTER_MS ? 'reconnecting' : 'stopped' })
  } finally {
    isAsking = false
  }
}

/** Detects a stream that fell silent without an error, and asks if there is none. An open section of the service shows the present state. */
function watch(): void {
  const now = performance.now()
  if (store.link === 'live' && readAddress().section !== undefined && !document.hidden) reloadState().catch(() => {})
  if (stream !== undefined && store.link === 'live' && now - heardAt > SILENT_AFTER_MS) reopen()
  if (!isLoading && (position === undefined || !hasTurn)) follow().catch(() => {})
  else if (lostAt !== undefined && now - lostAt >= POLL_AFTER_MS && now - askedAt >= POLL_EVERY_MS) ask()
}

function take({ cursor, now, total, rows, calls, warnings, isStateNew, mustReload }: Batch): void {
  position = cursor
  if (mustReload) load().catch(reopen)
  else if (isStateNew) reloadState().catch(() => {})
  for (const warning of warnings) store.say(warning, true)
  if (calls.length > 0) store.calls = [...calls, ...store.calls].slice(0, MOST_CALLS)
  store.total = total
  store.setNow(now)
  if (rows.length > 0) store.rows.put(rows)
  store.changed()
}

import type { ApiCall, Batch, EmulatorState, RowPage } from '../../emulator/contract.ts'
import { api } from './api.ts'
import { type Link, page } from './page-model.ts'

/** A message between tabs. Only one tab has the stream, since a browser opens at most six connections to a host. */
type Told =
  | { readonly kind: 'hello' }
  | { readonly kind: 'link'; readonly link: Link }
  | { readonly kind: 'batch'; readonly batch: Batch }

const STREAM = '/_emulator/stream?form=rows'
/** The stream sends a message at least every 5 s. */
const SILENT_AFTER_MS = 12_000
const POLL_AFTER_MS = 10_000
const POLL_EVERY_MS = 3_000
const RECONNECT_MS = 1_000
const FIRST_ROWS = 300
const MOST_CALLS = 500

/** Undefined outside of a secure context, as under a name of --host-allow: without locks, each tab has its own stream. */
const channel = 'locks' in navigator ? new BroadcastChannel('postern-inspector') : undefined
let stream: EventSource | undefined
let heardAt = performance.now()
let lostAt: number | undefined = performance.now()
let polledAt = 0
/** Batches that arrive while the page loads everything; undefined otherwise. */
let waiting: Batch[] | undefined

/** Connects the page: as the tab that has the stream, or as one that gets messages from it. */
export function connect(): void {
  channel?.addEventListener('message', ({ data }: MessageEvent<Told>) => hear(data))
  if (channel === undefined) open()
  else {
    navigator.locks.request('postern-inspector', () => {
      open()
      return new Promise(() => {}) // until the tab is closed
    })
    channel.postMessage({ kind: 'hello' } satisfies Told)
  }
  setInterval(watch, 1_000)
  restart()
}

/** Loads everything: at the start, and after messages may have been missed. */
async function resync(): Promise<void> {
  if (waiting !== undefined) return
  waiting = []
  const isFirst = page.rows.size === 0
  try {
    const [state, newest, calls] = await Promise.all([
      api<EmulatorState>('GET state'),
      api<RowPage>(isFirst ? `GET rows?limit=${FIRST_ROWS}` : 'GET rows'),
      api<readonly ApiCall[]>('GET calls'),
    ])
    const isNewRun = page.state !== undefined && page.state.bootId !== newest.bootId
    page.state = state
    page.calls = calls
    page.setNow(newest.now)
    if (isFirst) page.rows.putOlder(newest.rows)
    else {
      page.rows.put(newest.rows.toReversed())
      const batched = waiting.flatMap(({ rows }) => rows)
      page.rows.keepOnly(new Set([...newest.rows, ...batched].map(({ id }) => id)), isNewRun)
    }
    page.changed()
    const oldest = newest.rows.at(-1)
    if (isFirst && oldest !== undefined && newest.total > newest.rows.length)
      page.rows.putOlder((await api<RowPage>(`GET rows?before=${oldest.id}`)).rows)
  } finally {
    const batches = waiting ?? []
    waiting = undefined
    for (const batch of batches) apply(batch)
    page.changed()
  }
}

/** Loads everything in the background. If it fails, `watch` tries again. */
function restart(): void {
  resync().catch(() => {})
}

/** Loads webhooks, faults and settings again. */
export async function reloadState(): Promise<void> {
  page.state = await api<EmulatorState>('GET state')
  page.changed()
}

function open(): void {
  stream?.close()
  stream = new EventSource(STREAM)
  stream.addEventListener('ready', () => tell({ kind: 'link', link: 'live' }))
  stream.addEventListener('batch', ({ data }) => tell({ kind: 'batch', batch: JSON.parse(data) }))
  stream.addEventListener('error', reopen)
}

function reopen(): void {
  stream?.close()
  tell({ kind: 'link', link: 'reconnecting' })
  setTimeout(open, RECONNECT_MS)
}

/** Sends a message to the other tabs, and to this one. */
function tell(told: Told): void {
  channel?.postMessage(told)
  hear(told)
}

function hear(told: Told): void {
  if (told.kind === 'hello') {
    if (stream !== undefined) channel?.postMessage({ kind: 'link', link: page.link } satisfies Told)
    return
  }
  heardAt = performance.now()
  if (told.kind === 'batch') {
    if (page.link !== 'live') becomeLive()
    if (waiting === undefined) apply(told.batch)
    else waiting.push(told.batch)
  } else if (told.kind === 'link' && told.link === 'live') becomeLive()
  else if (told.kind === 'link') loseLink()
}

function becomeLive(): void {
  const wasLost = page.link !== 'connecting' && page.link !== 'live'
  page.link = 'live'
  lostAt = undefined
  if (wasLost) restart()
  page.changed()
}

function loseLink(): void {
  lostAt ??= performance.now()
  if (page.link === 'live' || page.link === 'connecting') page.link = 'reconnecting'
  page.changed()
}

/** Detects a stream that fell silent without an error, and polls after a while without a stream. */
function watch(): void {
  const now = performance.now()
  if (page.link === 'live' && now - heardAt > SILENT_AFTER_MS) {
    if (stream !== undefined) reopen()
    else loseLink()
  }
  if (lostAt === undefined || now - lostAt < POLL_AFTER_MS || now - polledAt < POLL_EVERY_MS) return
  polledAt = now
  resync().then(
    () => lostAt !== undefined && page.setLink('polling'),
    () => lostAt !== undefined && page.setLink('stopped'),
  )
}

function apply({ now, notices, rows }: Batch): void {
  for (const notice of notices) {
    if (notice.type === 'call') page.calls = [notice.call, ...page.calls].slice(0, MOST_CALLS)
    if (notice.type === 'warning') page.say(notice.message, true)
    if (notice.type === 'reset') page.rows.clear()
    if (notice.type === 'reset' || (notice.type === 'webhook' && notice.change === 'deleted')) setTimeout(restart, 50)
    if (notice.type === 'webhook') reloadState().catch(() => {})
  }
  page.setNow(now)
  page.rows.put(rows)
  page.changed()
}

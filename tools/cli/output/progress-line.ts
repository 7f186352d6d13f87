import { showDuration } from '../../../src/host/duration.ts'
import type { Io } from '../io.ts'

/** Time after which a command shows its progress. */
const FIRST_AFTER_MS = 1_000
const REDRAW_MS = 200
const JSON_EVERY_MS = 1_000
const LINE_EVERY_MS = 10_000

interface Standing {
  readonly text: string
  readonly record: object
}

interface Progress {
  readonly done: number
  readonly total: number
  readonly etaMs: number | undefined
  /** Reason of a wait, and how long it takes. */
  readonly wait?: string | undefined
}

/** `retrying 120/300  40.0%  waiting 1.4 s for rate limit  eta 11 s` */
export function formatProgress(phase: string, { done, total, etaMs, wait }: Progress): string {
  const percent = total > 0 && `${((100 * done) / total).toFixed(1)}%`
  const eta = etaMs !== undefined && `eta ${showDuration(Math.max(1_000, etaMs))}`
  return [`${phase} ${done}/${total}`, percent, wait, eta].filter(Boolean).join('  ')
}

/**
 * Shows the progress of a command: as one changing line at a terminal, as a line every 10 s elsewhere, or as JSON. Returns a function that
 * ends it.
 */
export function showProgress({ stderr, env, isJson }: Io, look: () => Standing): () => void {
  const canRedraw = !isJson && stderr.isTTY === true && env.TERM !== 'dumb'
  const everyMs = isJson ? JSON_EVERY_MS : canRedraw ? REDRAW_MS : LINE_EVERY_MS
  let shownAt = performance.now() + FIRST_AFTER_MS - everyMs
  let isDrawn = false
  const timer = setInterval(() => {
    const now = performance.now()
    // A timer may fire a little early.
    if (now - shownAt < everyMs - REDRAW_MS / 2) return
    shownAt = now
    const { text, record } = look()
    const line = isJson ? JSON.stringify({ type: 'progress', ...record }) : text
    stderr.write(canRedraw ? `\r\u001b[K${line}` : `${line}\n`)
    isDrawn = canRedraw
  }, REDRAW_MS)
  return () => {
    clearInterval(timer)
    if (isDrawn) stderr.write('\r\u001b[K')
    isDrawn = false
  }
}

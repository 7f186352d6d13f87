import type { ReplayProgress, Wait } from '../../client/client.ts'
import type { Io } from '../io.ts'
import { showTime } from './show-time.ts'

/** A replay that is done sooner shows no progress. */
const FIRST_AFTER_MS = 1_000
const REDRAW_MS = 200
const JSON_EVERY_MS = 1_000
const LINE_EVERY_MS = 10_000

/** Shows how far a replay is: one line that changes at a terminal, a line now and then elsewhere. */
export class ProgressDisplay {
  readonly #io: Io
  readonly #isJson: boolean
  /** Whether the line can be taken back to be drawn again. */
  readonly #canRedraw: boolean
  #timer: NodeJS.Timeout | undefined
  #waitsUntil = 0
  #waitsFor: Wait['reason'] = 'rate_limit'
  #retryingSince: number | undefined
  #shownAt = 0
  #isDrawn = false
  progress: ReplayProgress | undefined

  constructor(io: Io, isJson: boolean) {
    this.#io = io
    this.#isJson = isJson
    this.#canRedraw = io.stderr.isTTY === true && io.env.TERM !== 'dumb'
  }

  start(): void {
    // The first line comes after a second everywhere: it tells that something is going on.
    this.#shownAt = performance.now() + FIRST_AFTER_MS - this.#every
    this.#timer = setInterval(() => this.#tick(), REDRAW_MS)
  }

  onWait({ ms, reason }: Wait): void {
    this.#waitsUntil = Math.max(this.#waitsUntil, performance.now() + ms)
    this.#waitsFor = reason
  }

  onProgress(progress: ReplayProgress): void {
    this.#retryingSince ??= performance.now()
    this.progress = progress
  }

  /** Takes the line away again. */
  end(): void {
    clearInterval(this.#timer)
    if (this.#isDrawn) this.#io.stderr.write('\r\u001b[K')
    this.#isDrawn = false
  }

  get #every(): number {
    if (this.#isJson) return JSON_EVERY_MS
    return this.#canRedraw ? REDRAW_MS : LINE_EVERY_MS
  }

  #tick(): void {
    const now = performance.now()
    // A timer may come a little early.
    if (now - this.#shownAt < this.#every - REDRAW_MS / 2) return
    this.#shownAt = now
    const status = toStatus(this.progress, {
      waitMs: this.#waitsUntil - now,
      waitsFor: this.#waitsFor,
      elapsedMs: now - (this.#retryingSince ?? now),
    })
    if (this.#isJson) this.#io.stderr.write(`${JSON.stringify({ type: 'progress', ...status, ...this.progress })}\n`)
    else if (this.#canRedraw) {
      this.#isDrawn = true
      this.#io.stderr.write(`\r\u001b[K${formatStatus(status)}`)
    } else this.#io.stderr.write(`${formatStatus(status)}\n`)
  }
}

/** What the progress itself does not tell. */
interface Pace {
  readonly waitMs: number
  readonly waitsFor: Wait['reason']
  /** Since the first retry. */
  readonly elapsedMs: number
}

/** How far it is. Times are in milliseconds. */
interface ReplayStatus {
  readonly phase: 'reading' | 'retrying' | 'results'
  readonly done: number
  readonly total: number
  readonly waitMs: number
  readonly waitsFor: Wait['reason']
  readonly etaMs: number | undefined
}

/** Retries first, and then their results. */
export function toStatus(progress: ReplayProgress | undefined, { waitMs, waitsFor, elapsedMs }: Pace): ReplayStatus {
  const wait = { waitMs: Math.max(0, Math.round(waitMs)), waitsFor }
  if (progress === undefined) return { phase: 'reading', done: 0, total: 0, ...wait, etaMs: undefined }
  const { total, retried, resumed, refused, succeeded, failed } = progress
  const handed = Math.min(total, retried + resumed + refused)
  if (handed === total)
    return { phase: 'results', done: succeeded + failed + refused, total, ...wait, etaMs: undefined }
  const here = retried + refused
  // A window of the rate limit is a burst and a wait: the wait that is under way belongs to what was done.
  const pace = (elapsedMs + wait.waitMs) / here
  const etaMs = here > 0 ? Math.round(wait.waitMs + pace * (total - handed)) : undefined
  return { phase: 'retrying', done: handed, total, ...wait, etaMs }
}

const PHASES = { reading: 'reading the log', retrying: 'retrying', results: 'waiting for results' }

/** `retrying 120/300  40.0%  waiting 1.4 s for rate limit  eta 11 s` */
export function formatStatus({ phase, done, total, waitMs, waitsFor, etaMs }: ReplayStatus): string {
  const why = waitsFor === 'rate_limit' ? 'for rate limit' : 'after a failure'
  const parts = [
    phase === 'reading' ? PHASES.reading : `${PHASES[phase]} ${done}/${total}`,
    total > 0 && `${((100 * done) / total).toFixed(1)}%`,
    waitMs >= 100 && `waiting ${showTime(waitMs)} ${why}`,
    etaMs !== undefined && `eta ${showTime(Math.max(1_000, etaMs))}`,
  ]
  return parts.filter(Boolean).join('  ')
}

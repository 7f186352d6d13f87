import type { ReplayProgress, Wait } from '../client/client.ts'
import type { Io } from './io.ts'
import { formatStatus, toStatus } from './replay-status.ts'

/** Nothing is shown of what is done sooner. */
const FIRST_AFTER_MS = 1_000
const REDRAW_MS = 200
const JSON_EVERY_MS = 1_000
const LINE_EVERY_MS = 10_000

/** Shows how far a replay is: one line that changes at a terminal, a line now and then elsewhere. */
export class ProgressDisplay {
  readonly #io: Io
  readonly #isJson: boolean
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
    return this.#io.stderr.isTTY ? REDRAW_MS : LINE_EVERY_MS
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
    else if (this.#io.stderr.isTTY) {
      this.#isDrawn = true
      this.#io.stderr.write(`\r\u001b[K${formatStatus(status)}`)
    } else this.#io.stderr.write(`${formatStatus(status)}\n`)
  }
}

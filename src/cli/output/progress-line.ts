import { showDuration } from '../../host/duration.ts'
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

/** Shows the progress of a command: as one changing line at a terminal, as a line every 10 s elsewhere, or as JSON. */
export class ProgressLine {
  readonly #io: Io
  readonly #isJson: boolean
  readonly #look: () => Standing
  readonly #canRedraw: boolean
  #timer: NodeJS.Timeout | undefined
  #shownAt = 0
  #isDrawn = false

  constructor(io: Io, isJson: boolean, look: () => Standing) {
    this.#io = io
    this.#isJson = isJson
    this.#look = look
    this.#canRedraw = io.stderr.isTTY === true && io.env.TERM !== 'dumb'
  }

  start(): void {
    this.#shownAt = performance.now() + FIRST_AFTER_MS - this.#every
    this.#timer = setInterval(() => this.#tick(), REDRAW_MS)
  }

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
    // A timer may fire a little early.
    if (now - this.#shownAt < this.#every - REDRAW_MS / 2) return
    this.#shownAt = now
    const { text, record } = this.#look()
    if (this.#isJson) this.#io.stderr.write(`${JSON.stringify({ type: 'progress', ...record })}\n`)
    else if (this.#canRedraw) {
      this.#isDrawn = true
      this.#io.stderr.write(`\r\u001b[K${text}`)
    } else this.#io.stderr.write(`${text}\n`)
  }
}

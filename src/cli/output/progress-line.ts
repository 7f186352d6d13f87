import type { Io } from '../io.ts'

/** A command that ends sooner shows no progress. */
const FIRST_AFTER_MS = 1_000
const REDRAW_MS = 200
const JSON_EVERY_MS = 1_000
const LINE_EVERY_MS = 10_000

/** Progress, for people and for programs. */
interface Standing {
  readonly text: string
  readonly record: object
}

/** Shows how far a command is: one line that changes at a terminal, a line now and then elsewhere. */
export class ProgressLine {
  readonly #io: Io
  readonly #isJson: boolean
  readonly #look: () => Standing
  /** True if the line can be erased and drawn again. */
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
    // The first line comes after a second everywhere: it tells that something is going on.
    this.#shownAt = performance.now() + FIRST_AFTER_MS - this.#every
    this.#timer = setInterval(() => this.#tick(), REDRAW_MS)
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
    const { text, record } = this.#look()
    if (this.#isJson) this.#io.stderr.write(`${JSON.stringify({ type: 'progress', ...record })}\n`)
    else if (this.#canRedraw) {
      this.#isDrawn = true
      this.#io.stderr.write(`\r\u001b[K${text}`)
    } else this.#io.stderr.write(`${text}\n`)
  }
}

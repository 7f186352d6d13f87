import type { JSX } from 'preact'
import type { EmulatorState, Row, WebhookShape } from '../../emulator/contract.ts'
import type { InboxCountsShape, InboxRows } from '../../emulator/inspector/inbox-shapes.ts'

/** Limit of finished rows; the emulator keeps as many deliveries. */
export const MOST_ROWS = 10_000

export class Rows {
  /** In the order of their creation, the newest first: another array after each change. */
  all: readonly Row[] = []
  /** A change replaces the row, and never changes it. */
  readonly #byId = new Map<string, Row>()

  find(id: string): Row | undefined {
    return this.#byId.get(id)
  }

  put(rows: readonly Row[]): void {
    for (const row of rows) this.#byId.set(row.id, row)
    this.all = [...this.#byId.values()].sort((one, other) => other.made - one.made)
    const over = this.all.length - MOST_ROWS
    if (over > 0) {
      // Drops the oldest finished rows, as the emulator does.
      for (const { id } of this.all.filter(({ status }) => status !== 'pending').slice(-over)) this.#byId.delete(id)
      this.all = this.all.filter(({ id }) => this.#byId.has(id))
    }
  }
}

type Link = 'connecting' | 'live' | 'reconnecting' | 'stopped'

interface InboxData extends Partial<InboxRows> {
  readonly counts?: InboxCountsShape | undefined
  readonly error?: string | undefined
}

const LATEST_DRAW_MS = 250

/** State of the page. Code that changes it calls `changed`; the page is then drawn anew. */
class Store {
  rows: Rows = new Rows()
  link: Link = 'connecting'
  state: EmulatorState | undefined
  total = 0
  inbox: InboxData = {}
  /** The open dialog: another function each time that one is opened. */
  dialog: (() => JSX.Element) | undefined
  /** Deliveries by a text that their bodies or answers have, up to the change of that number. */
  found: ReadonlyMap<string, { readonly ids: ReadonlySet<string>; readonly change: number }> = new Map()
  toast: { readonly text: string; readonly isError: boolean } | undefined
  /** Number of the newest row that is shown: newer ones are held back while the list is scrolled. */
  heldFrom: number = Number.POSITIVE_INFINITY
  /** The row to which a key moves the focus, until it has it. */
  wanted: string | undefined
  /** Place of the row that has left the list with the focus: the next one has it now. */
  place = 0
  /** Number of the chosen colours: those of the system, light or dark. */
  theme = Number(localStorage.getItem('postern.theme'))
  /** The emulator's time minus the machine's. `#manualNow` is the time of a manual clock. */
  #offset = 0
  #manualNow: number | undefined
  #isPlanned = false
  #toastTimer: ReturnType<typeof setTimeout> | undefined
  draw: () => void = () => {}

  now(): number {
    return this.#manualNow ?? Date.now() + this.#offset
  }

  setNow(text: string): void {
    const now = Date.parse(text)
    this.#offset = now - Date.now()
    this.#manualNow = this.state?.clock.isManual ? now : undefined
  }

  set(fields: Partial<Store>): void {
    Object.assign(this, fields)
    this.changed()
  }

  find(id: string): Row | undefined {
    return this.rows.find(id) ?? this.inbox.rows?.find((row) => row.id === id)
  }

  webhook(id: string): WebhookShape | undefined {
    return this.state?.webhooks.find((webhook) => webhook.id === id)
  }

  urlOf(webhookId: string): string {
    return this.webhook(webhookId)?.url ?? ''
  }

  say(text: string, isError = false): void {
    clearTimeout(this.#toastTimer)
    this.#toastTimer = setTimeout(() => this.set({ toast: undefined }), isError ? 10_000 : 4_000)
    this.set({ toast: { text, isError } })
  }

  /** Redraws the page, at most once a frame. The timer is for a page that is hidden or covered: it has no frames. */
  changed(): void {
    if (this.#isPlanned) return
    this.#isPlanned = true
    const draw = () => {
      if (!this.#isPlanned) return
      this.#isPlanned = false
      clearTimeout(timer)
      this.draw()
    }
    const timer = setTimeout(draw, LATEST_DRAW_MS)
    requestAnimationFrame(draw)
  }
}

export const store: Store = new Store()

/** Keeps the result of a computation as long as its inputs are the same. */
export function remember<T>(listInputs: () => readonly unknown[], compute: () => T): () => T {
  let kept: { readonly inputs: readonly unknown[]; readonly value: T } | undefined
  return () => {
    const inputs = listInputs()
    if (!kept?.inputs.every((input, index) => Object.is(input, inputs[index]))) kept = { inputs, value: compute() }
    return kept.value
  }
}

import type { JSX } from 'preact'
import { useLayoutEffect, useReducer, useRef } from 'preact/hooks'
import type { EmulatorState, Row, WebhookShape } from '../../emulator/contract.ts'
import type { InboxCountsShape, InboxRows } from '../../emulator/inspector/inbox-shapes.ts'
import { Rows } from './rows.ts'

/** State of the connection. */
type Link = 'connecting' | 'live' | 'reconnecting' | 'stopped'

/** Chosen colours; `system` follows the machine. */
export type Theme = 'system' | 'light' | 'dark'

/** A dialog that is open. */
type Dialog =
  | { readonly kind: 'trigger' }
  | { readonly kind: 'edit'; readonly id: string }
  | { readonly kind: 'bulk'; readonly bulk: Bulk }
  | { readonly kind: 'ask'; readonly question: Question }
  | { readonly kind: 'text'; readonly title: string; readonly text: string }
  | { readonly kind: 'form'; readonly draw: () => JSX.Element }
  | { readonly kind: 'help' }

/** A question before an action. */
export interface Question {
  readonly title: string
  readonly text: string
  readonly verb: string
  /** True if what is lost cannot be brought back. */
  readonly isDangerous?: boolean
  /** Rejects if it fails. */
  readonly onYes: () => Promise<unknown>
}

/** One action on many deliveries or events. */
export interface Bulk {
  /** Noun of the targets. */
  readonly noun: readonly [one: string, several: string]
  readonly text: string
  /** Calls in their order. Each rejects if it is refused. */
  readonly calls: readonly (() => Promise<unknown>)[]
  /** Reasons why some are left out, each with their number. */
  readonly leftOut: ReadonlyMap<string, number>
}

/** State of the inbox. */
interface InboxData extends Partial<InboxRows> {
  readonly counts?: InboxCountsShape | undefined
  /** Error of the last read; undefined if it succeeded. */
  readonly error?: string | undefined
}

const LATEST_DRAW_MS = 250

/** State of the page. Code that changes it calls `changed`; components read it by `useStore`. */
class Store {
  readonly rows: Rows = new Rows()
  link: Link = 'connecting'
  state: EmulatorState | undefined
  /** Number of deliveries that the emulator has. */
  total = 0
  inbox: InboxData = {}
  dialog: Dialog | undefined
  /** Deliveries by a text that their bodies or answers have, up to the change of that number. */
  found: ReadonlyMap<string, { readonly ids: ReadonlySet<string>; readonly change: number }> = new Map()
  /** A message to the user, shown for a few seconds. */
  toast: { readonly text: string; readonly isError: boolean } | undefined
  /** Number of the newest row that is shown: newer ones are held back while the list is scrolled. */
  heldFrom: number = Number.POSITIVE_INFINITY
  /** The row to which a key moves the focus: another object for each key. */
  cursor: { readonly id: string; hasFocus: boolean } | undefined
  theme: Theme = readLocal('theme', ['light', 'dark']) ?? 'system'
  /** True to write absolute times in UTC, like the emulator's log. */
  isUtc: boolean = readLocal('zone', ['utc']) === 'utc'
  /** The emulator's time minus the machine's. `#manualNow` is the time of a manual clock. */
  #offset = 0
  #manualNow: number | undefined
  #isPlanned = false
  #toastTimer: ReturnType<typeof setTimeout> | undefined
  readonly #listeners = new Set<() => void>()

  /** Time of the emulator's clock, in milliseconds since 1970. */
  now(): number {
    return this.#manualNow ?? Date.now() + this.#offset
  }

  setNow(text: string): void {
    const now = Date.parse(text)
    this.#offset = now - Date.now()
    this.#manualNow = this.state?.clock.isManual ? now : undefined
  }

  /** Sets fields, and redraws what shows them. */
  set(fields: Partial<Store>): void {
    Object.assign(this, fields)
    this.changed()
  }

  /** Finds a delivery, or an event of the inbox by its key. */
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
    this.toast = { text, isError }
    clearTimeout(this.#toastTimer)
    this.#toastTimer = setTimeout(
      () => {
        this.toast = undefined
        this.changed()
      },
      isError ? 10_000 : 4_000,
    )
    this.changed()
  }

  setTheme(theme: Theme): void {
    this.theme = theme
    paint()
    this.#keep('theme', theme)
  }

  setUtc(isUtc: boolean): void {
    this.isUtc = isUtc
    this.#keep('zone', isUtc ? 'utc' : 'local')
  }

  #keep(name: string, value: string): void {
    localStorage.setItem(`postern.${name}`, value)
    this.changed()
  }

  /** Redraws the page, at most once a frame. The timer is for a page that is hidden or covered: it has no frames. */
  changed(): void {
    if (this.#isPlanned) return
    this.#isPlanned = true
    const draw = () => {
      if (!this.#isPlanned) return
      this.#isPlanned = false
      clearTimeout(timer)
      for (const listener of [...this.#listeners]) listener()
    }
    const timer = setTimeout(draw, LATEST_DRAW_MS)
    requestAnimationFrame(draw)
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}

function readLocal<T extends string>(name: string, values: readonly T[]): T | undefined {
  return values.find((value) => value === localStorage.getItem(`postern.${name}`))
}

/** The one store of the page. */
export const store: Store = new Store()

/**
 * Reads something of the state, and redraws the component when it has changed.
 *
 * @param select returns the same value as long as nothing has changed that the component shows
 */
export function useStore<T>(select: () => T): T {
  const [, draw] = useReducer((count: number) => count + 1, 0)
  const value = select()
  const shown = useRef({ select, value })
  shown.current = { select, value }
  useLayoutEffect(
    () =>
      store.subscribe(() => {
        if (!Object.is(shown.current.select(), shown.current.value)) draw(undefined)
      }),
    [],
  )
  return value
}

/** Keeps the result of a computation as long as its inputs are the same. */
export function remember<T>(listInputs: () => readonly unknown[], compute: () => T): () => T {
  let kept: { readonly inputs: readonly unknown[]; readonly value: T } | undefined
  return () => {
    const inputs = listInputs()
    if (!kept?.inputs.every((input, index) => Object.is(input, inputs[index]))) kept = { inputs, value: compute() }
    return kept.value
  }
}

/** Sets the colours of the page. */
export function paint(): void {
  document.documentElement.style.colorScheme = store.theme === 'system' ? '' : store.theme
}

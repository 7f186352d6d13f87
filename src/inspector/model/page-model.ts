import { useEffect, useReducer } from 'preact/hooks'
import type { ApiCall, EmulatorState, WebhookShape } from '../../emulator/contract.ts'
import { Rows } from './rows.ts'

/** State of the connection. `polling`: there is no stream, and the page asks every few seconds. */
export type Link = 'connecting' | 'live' | 'reconnecting' | 'polling' | 'stopped'

const LATEST_DRAW_MS = 250

/** State of the page. Code that changes it calls `changed`. */
class PageModel {
  readonly rows: Rows = new Rows()
  link: Link = 'connecting'
  state: EmulatorState | undefined
  calls: readonly ApiCall[] = []
  /** A message to the user, shown for a few seconds. */
  toast: { readonly text: string; readonly isError: boolean } | undefined
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

  setLink(link: Link): void {
    if (this.link === link) return
    this.link = link
    this.changed()
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

/** The one model of the page. */
export const page: PageModel = new PageModel()

/** Redraws a component after each change of the page's state. */
export function usePage(): PageModel {
  const [, draw] = useReducer((count: number) => count + 1, 0)
  useEffect(() => page.subscribe(() => draw(undefined)), [])
  return page
}

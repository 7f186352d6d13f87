import { useEffect, useReducer } from 'preact/hooks'
import type { ApiCall, EmulatorState, WebhookShape } from '../shapes.ts'
import { Rows } from './rows.ts'

/** Whether the page hears of what happens. `polling`: there is no stream, and it asks every few seconds. */
export type Link = 'connecting' | 'live' | 'reconnecting' | 'polling' | 'stopped'

/** A word to the user, shown for a while. */
interface Toast {
  readonly text: string
  readonly isError: boolean
}

const LATEST_DRAW_MS = 250

/** All that the page knows. Whoever changes it calls `changed`. */
class PageModel {
  readonly rows: Rows = new Rows()
  link: Link = 'connecting'
  state: EmulatorState | undefined
  calls: readonly ApiCall[] = []
  toast: Toast | undefined
  /** The emulator's time minus the machine's; with a manual clock, the time itself. */
  #offset = 0
  #manualNow: number | undefined
  #isPlanned = false
  #toastTimer: ReturnType<typeof setTimeout> | undefined
  readonly #listeners = new Set<() => void>()

  /** By the emulator's clock, in milliseconds since 1970. */
  now(): number {
    return this.#manualNow ?? Date.now() + this.#offset
  }

  setNow(now: number): void {
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

  /** Has the page drawn again: once a frame, however much has changed. A hidden page has no frames, nor has one that is covered. */
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

/** Has a component drawn again when anything has changed. */
export function usePage(): PageModel {
  const [, draw] = useReducer((count: number) => count + 1, 0)
  useEffect(() => page.subscribe(() => draw(undefined)), [])
  return page
}

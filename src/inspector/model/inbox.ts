import type { InboxCountsShape, InboxRowPage, InboxStateName } from '../../emulator/inspector/inbox-shapes.ts'
import { type Address, readAddress } from './address.ts'
import { api, describeError, IS_ALONE, NoAnswer } from './api.ts'
import { page } from './page-model.ts'

const ROUTES = '/_inspector/inbox'
const ASK_EVERY_MS = 2_000

/** State of the inbox. An inbox sends no messages, so the page polls it every two seconds. */
class InboxModel {
  counts: InboxCountsShape | undefined
  /** Error of the last read; undefined if it succeeded. */
  error: string | undefined
  /** Number of refreshes. A component that loaded its data under an older number loads it again. */
  version = 0
  /** States of the accepted events on the first pages, by account and event id. */
  #states: ReadonlyMap<string, InboxStateName> = new Map()
  /** The last page of the list, and the call that loaded it. */
  #listed: { readonly line: string; readonly page: InboxRowPage } | undefined

  /** The page of the list that the address names; undefined until it is loaded. */
  get shown(): InboxRowPage | undefined {
    return this.#listed?.line === toListLine(readAddress()) ? this.#listed.page : undefined
  }

  get isWritable(): boolean {
    return this.counts?.isWritable === true
  }

  stateOf(account: string, event: string): InboxStateName | undefined {
    return this.#states.get(nameEvent(account, event))
  }

  /** Loads what the page shows. */
  async refresh(): Promise<void> {
    const { screen } = readAddress()
    const line = toListLine(readAddress())
    try {
      const [counts, rows, states] = await Promise.all([
        api<InboxCountsShape>(`GET ${ROUTES}/counts`),
        screen === 'inbox' ? api<InboxRowPage>(line) : undefined,
        screen === 'deliveries' && hasAccepted() ? readStates() : this.#states,
      ])
      this.#states = states
      // The user may have chosen another page of the list in the meantime.
      if (rows !== undefined && line === toListLine(readAddress())) this.#listed = { line, page: rows }
      this.counts = counts
      this.error = undefined
      if (IS_ALONE) page.setLink('live')
    } catch (error) {
      this.error = describeError(error)
      if (IS_ALONE) page.setLink(error instanceof NoAnswer ? 'stopped' : 'live')
    }
    this.version++
    page.changed()
  }
}

/** The one model of the inbox. */
export const inbox: InboxModel = new InboxModel()

/** Returns true if there is an inbox to show. */
export function hasInbox(): boolean {
  return IS_ALONE || page.state?.hasInbox === true
}

/** Polls the inbox while the page is visible. A screen that needs data immediately loads it itself. */
export function watchInbox(): void {
  let isAsking = false
  const ask = async () => {
    if (isAsking || document.hidden || !hasInbox()) return
    isAsking = true
    await inbox.refresh()
    isAsking = false
  }
  setInterval(ask, ASK_EVERY_MS)
  document.addEventListener('visibilitychange', ask)
}

/** Path of an item by its key. */
export function toItemPath(route: 'item' | 'body', key: string): string {
  return `${ROUTES}/${route}?key=${encodeURIComponent(key)}`
}

/** Path of the inbox's entry of a delivered event. */
export function toEventPath(account: string, event: string): string {
  return `${ROUTES}/event?${new URLSearchParams({ account, event })}`
}

/** Returns a dead letter to the waiting events. Rejects if it is no longer a dead letter. */
export async function replay(key: string): Promise<void> {
  await change('replay', key, 'the event is no longer a dead letter')
}

/** Deletes an event that is not running. */
export async function drop(key: string): Promise<void> {
  await change('drop', key, 'the event is running, or is gone')
}

async function change(action: string, key: string, refusal: string): Promise<void> {
  const { isDone } = await api<{ readonly isDone: boolean }>(`POST ${ROUTES}/${action}`, { key })
  if (!isDone) throw new Error(refusal)
}

function toListLine({ state, after }: Pick<Address, 'state' | 'after'>): string {
  return `GET ${ROUTES}/items?${new URLSearchParams({ state, ...(after !== undefined && { after }) })}`
}

async function readStates(): Promise<ReadonlyMap<string, InboxStateName>> {
  const states = ['dead', 'waiting', 'running'] as const
  const pages = await Promise.all(states.map((state) => api<InboxRowPage>(toListLine({ state, after: undefined }))))
  return new Map(
    pages.flatMap(({ rows }) => rows.map(({ account, event, state }) => [nameEvent(account, event), state])),
  )
}

function nameEvent(account: string, event: string): string {
  return JSON.stringify([account, event])
}

function hasAccepted(): boolean {
  return page.rows.all.some(({ last }) => last?.code === 'accepted')
}

import type { InboxCountsShape, InboxRow, InboxRowPage, InboxStateName } from '../shapes.ts'
import { readAddress } from './address.ts'
import { api, describeError, IS_ALONE, NoAnswer } from './api.ts'
import { page } from './page-model.ts'

const ROUTES = '/_inspector/inbox'
const ASK_EVERY_MS = 2_000

interface Stretch {
  readonly state: InboxStateName
  readonly after: string | undefined
  readonly page: InboxRowPage
}

/** What the page knows of the inbox, which tells nothing by itself: it is asked every two seconds. */
class InboxModel {
  counts: InboxCountsShape | undefined
  /** Why it could not be read the last time. */
  error: string | undefined
  /** Counts the answers: what was asked under an older one is asked again. */
  version = 0
  /** States of accepted events, as far as they are on a first page, by account and event id. */
  #states: ReadonlyMap<string, InboxStateName> = new Map()
  #stretch: Stretch | undefined

  /** The stretch that the address names; undefined as long as another one is known. */
  get shown(): InboxRowPage | undefined {
    const { state, after } = readAddress()
    return this.#stretch?.state === state && this.#stretch.after === after ? this.#stretch.page : undefined
  }

  get isWritable(): boolean {
    return this.counts?.isWritable === true
  }

  stateOf(account: string, event: string): InboxStateName | undefined {
    return this.#states.get(nameEvent(account, event))
  }

  /** Asks for what is shown. */
  async refresh(): Promise<void> {
    const { screen, state, after } = readAddress()
    try {
      const [counts, rows, states] = await Promise.all([
        api<InboxCountsShape>(`GET ${ROUTES}/counts`),
        screen === 'inbox' ? list(state, after) : undefined,
        screen === 'deliveries' && hasAccepted() ? readStates() : this.#states,
      ])
      this.#states = states
      // Meanwhile another one may have been wanted.
      const now = readAddress()
      if (rows !== undefined && now.state === state && now.after === after) this.#stretch = { state, after, page: rows }
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

/** Whether there is an inbox to look at. */
export function hasInbox(): boolean {
  return IS_ALONE || page.state?.hasInbox === true
}

/** Asks again and again, unless nobody looks. A screen that needs an answer asks for the first one itself. */
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

/** Path of what the inbox holds of a delivered event. */
export function toEventPath(account: string, event: string): string {
  return `${ROUTES}/event?${new URLSearchParams({ account, event })}`
}

/** Has a dead letter wait again. Rejects if it is none any more. */
export async function replay(key: string): Promise<void> {
  const { isDone } = await api<Done>(`POST ${ROUTES}/replay`, { key })
  if (!isDone) throw new Error('it is no dead letter any more')
}

/** Deletes an event that does not run. */
export async function drop(key: string): Promise<void> {
  const { isDone } = await api<Done>(`POST ${ROUTES}/drop`, { key })
  if (!isDone) throw new Error('it runs right now, or is gone')
}

interface Done {
  readonly isDone: boolean
}

function list(state: InboxStateName, after?: string): Promise<InboxRowPage> {
  const place = after === undefined ? '' : `&after=${encodeURIComponent(after)}`
  return api<InboxRowPage>(`GET ${ROUTES}/items?state=${state}${place}`)
}

async function readStates(): Promise<ReadonlyMap<string, InboxStateName>> {
  const pages = await Promise.all([list('dead'), list('waiting'), list('running')])
  return new Map(pages.flatMap(({ rows }) => rows.map(toEntry)))
}

function toEntry({ account, event, state }: InboxRow): readonly [string, InboxStateName] {
  return [nameEvent(account, event), state]
}

function nameEvent(account: string, event: string): string {
  return JSON.stringify([account, event])
}

function hasAccepted(): boolean {
  return page.rows.all.some(({ last }) => last?.code === 'accepted')
}

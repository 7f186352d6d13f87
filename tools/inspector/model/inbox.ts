import type { InboxCountsShape, InboxRowPage } from '../../emulator/inspector/inbox-shapes.ts'
import { type Address, readAddress } from './address.ts'
import { api, describeError, IS_ALONE, NoAnswer } from './api.ts'
import { readWord } from './filter.ts'
import { store } from './store.ts'

const ROUTES = '/_inspector/inbox'
const ASK_EVERY_MS = 2_000
/** Limit of the dead letters that are replayed together: as many are read. */
const MOST_REPLAYED = 10_000

/** The page of the inbox's list that the address names; undefined until it is loaded. */
export function readListed(): InboxRowPage | undefined {
  const { listed } = store.inbox
  return listed?.line === toListLine(readAddress()) ? listed.page : undefined
}

export function isInboxWritable(): boolean {
  return !IS_ALONE || store.inbox.counts?.isWritable === true
}

/** Loads what the page shows of the inbox. */
export async function refreshInbox(): Promise<void> {
  const { screen } = readAddress()
  const line = toListLine(readAddress())
  const version = store.inbox.version + 1
  try {
    const [counts, rows] = await Promise.all([
      api<InboxCountsShape>(`GET ${ROUTES}/counts`),
      screen === 'inbox' ? api<InboxRowPage>(line) : undefined,
    ])
    // The user may have chosen another page of the list in the meantime.
    const isWanted = rows !== undefined && line === toListLine(readAddress())
    const listed = isWanted ? { line, page: rows } : store.inbox.listed
    store.set({ inbox: { counts, listed, version }, ...(IS_ALONE && { link: 'live' }) })
  } catch (error) {
    const link = error instanceof NoAnswer ? 'stopped' : 'live'
    store.set({ inbox: { ...store.inbox, error: describeError(error), version }, ...(IS_ALONE && { link }) })
  }
}

/** Returns true if there is an inbox to show. */
export function hasInbox(): boolean {
  return IS_ALONE || store.state?.hasInbox === true
}

/** Polls the inbox while the page is visible. A screen that needs data immediately loads it itself. */
export function watchInbox(): void {
  let isAsking = false
  const ask = async () => {
    if (isAsking || document.hidden || !hasInbox()) return
    isAsking = true
    await refreshInbox()
    isAsking = false
  }
  setInterval(ask, ASK_EVERY_MS)
  document.addEventListener('visibilitychange', ask)
}

/** Path of an item by its key. */
export function toItemPath(route: 'item' | 'body', key: string): string {
  return `${ROUTES}/${route}?key=${encodeURIComponent(key)}`
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

/** Loads all dead letters that match the filter, the newest first. */
export async function listMatching(cause?: string): Promise<InboxRowPage['rows']> {
  const { query } = readAddress()
  const line = toListLine(
    { state: 'dead', after: undefined, query },
    { limit: `${MOST_REPLAYED}`, ...(cause && { cause }) },
  )
  return (await api<InboxRowPage>(line)).rows
}

function toListLine(
  { state, after = '', query }: Pick<Address, 'state' | 'after' | 'query'>,
  more: Readonly<Record<string, string>> = {},
): string {
  const [type = '', account = '', cause = ''] = ['type', 'account', 'cause'].map((key) => readWord(query, key))
  const parts = Object.entries({ state, after, type, account, cause, ...more }).filter(([, value]) => value !== '')
  return `GET ${ROUTES}/items?${new URLSearchParams(parts)}`
}

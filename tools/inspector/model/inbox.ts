import type { InboxCountsShape, InboxRows } from '../../emulator/inspector/inbox-shapes.ts'
import { readAddress } from './address.ts'
import { api, describeError, IS_ALONE, NoAnswer } from './api.ts'
import { store } from './store.ts'

const ROUTES = '/_inspector/inbox'
const ASK_EVERY_MS = 2_000

export function isInboxWritable(): boolean {
  return !IS_ALONE || store.inbox.counts?.isWritable === true
}

export async function refreshInbox(): Promise<void> {
  const { tag = '' } = store.inbox
  try {
    const [counts, rows] = await Promise.all([
      api<InboxCountsShape>(`GET ${ROUTES}/counts`),
      readAddress().screen === 'inbox' ? api<InboxRows>(`GET ${ROUTES}/rows?known=${tag}`) : undefined,
    ])
    store.set({ inbox: { ...store.inbox, ...rows, counts, error: undefined }, ...(IS_ALONE && { link: 'live' }) })
  } catch (error) {
    const link = error instanceof NoAnswer ? 'stopped' : 'live'
    store.set({ inbox: { ...store.inbox, error: describeError(error) }, ...(IS_ALONE && { link }) })
  }
}

export function hasInbox(): boolean {
  return IS_ALONE || store.state?.hasInbox === true
}

/** Polls the inbox while the page is visible. A screen that needs data immediately loads it itself. */
export async function watchInbox(): Promise<void> {
  if (!document.hidden && hasInbox()) await refreshInbox()
  setTimeout(watchInbox, ASK_EVERY_MS)
}

export function toItemPath(route: 'item' | 'body', key: string): string {
  return `${ROUTES}/${route}?key=${encodeURIComponent(key)}`
}

/** Returns a dead letter to the waiting events, makes the next try of a waiting one due, or deletes an event. Rejects if it cannot. */
export async function changeInbox(action: 'replay' | 'drop', key: string): Promise<void> {
  const { isDone } = await api<{ readonly isDone: boolean }>(`POST ${ROUTES}/${action}`, { key })
  if (!isDone) throw new Error('the event is running, due, behind another one of its lane, or gone')
}

import {
  actOnItem,
  closeDelivery,
  closeItem,
  copyDelivery,
  focusSoon,
  moveClock,
  pauseOrResume,
  resend,
} from './actions.ts'
import { type Address, go, listScreens, readAddress, toView } from './address.ts'
import { IS_ALONE } from './api.ts'
import { readWord, writeWord } from './filter.ts'
import { isInboxWritable, replay } from './inbox.ts'
import { listShown, release, select } from './list.ts'
import { store } from './store.ts'

/** The keys of an inbox, as the help lists them. */
const INBOX_KEYS: readonly (readonly [string, string])[] = [
  ['j  k  ↓  ↑', 'next, previous event'],
  ['Enter', 'open it'],
  ['Esc', 'back'],
  ['r', 'replay the dead letter that is open'],
  ['?', 'these keys'],
]

const DELIVERY_KEYS: readonly (readonly [string, string])[] = [
  ['j  k  ↓  ↑', 'next, previous delivery'],
  ['Enter', 'open it'],
  ['Esc', 'back'],
  ['r', 'resend the same bytes'],
  ['e', 'edit and resend'],
  ['t', 'trigger an event'],
  ['c', 'copy as curl'],
  ['p', 'pause its webhook, or resume it'],
  ['m', 'pin it: “Clear the list” keeps it'],
  ['n', 'next attempt (manual clock)'],
  ['f', 'failed deliveries only, or all'],
  ['g', 'group failed deliveries by cause'],
  ['.', 'show new deliveries'],
  ['/', 'filter'],
  ['1 – 4', 'screens'],
  ['u', 'times in UTC, or local'],
  ['?', 'these keys'],
]

const ARROWS: Readonly<Record<string, string>> = { ArrowDown: 'j', ArrowUp: 'k' }

/** The keys, as the help lists them. */
export function listKeys(): readonly (readonly [string, string])[] {
  return IS_ALONE ? INBOX_KEYS : DELIVERY_KEYS
}

/** Handles keys, except in a field or a dialog, and except with modifiers. */
export function listenToKeys(): void {
  document.addEventListener('keydown', (event) => {
    // A held key moves the cursor on, but repeats no other action.
    if (event.repeat && !/^(j|k|ArrowDown|ArrowUp)$/.test(event.key)) return
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return
    const target = event.target instanceof HTMLElement ? event.target : document.body
    if (store.dialog !== undefined || target.closest('input:not([type=checkbox]), textarea, select') !== null) return
    // Enter belongs to the link or button that has the focus.
    if (event.key === 'Enter' && target.closest('a, button, summary') !== null) return
    if (press(ARROWS[event.key] ?? event.key)) event.preventDefault()
  })
}

/** Closes an open menu, and focuses its button. Returns true if one was open. */
function closeMenu(): boolean {
  const menu = document.querySelector<HTMLDetailsElement>('.menu[open]')
  if (menu === null) return false
  menu.open = false
  menu.querySelector('summary')?.focus()
  return true
}

/** Handles a key. Returns false if the key has no meaning here. */
function press(key: string): boolean {
  if (key === 'Escape' && closeMenu()) return true
  const { screen, item } = readAddress()
  const index = Number(key) - 1
  const tab = listScreens()[index]
  if (tab !== undefined) go(toView({ screen: tab[0] }))
  else if (key === '?') store.set({ dialog: { kind: 'help' } })
  else if (key === 'u') store.setUtc(!store.isUtc)
  else if (screen === 'inbox' && pressOnInbox(key, item)) return true
  else if (IS_ALONE) return false
  else if (key === 't') store.set({ dialog: { kind: 'trigger' } })
  else if (key === '/') document.getElementById('filter')?.focus()
  else if (key === 'n' && store.state?.clock.isManual) moveClock({ next: true })
  else if (key === 'f' || key === 'g') showFailed(key === 'g')
  else if (screen === 'deliveries') return pressOnList(key)
  else return false
  return true
}

/** Shows the failed deliveries, in a list or by cause; all of them again if these are shown. */
export function showFailed(isGrouped: boolean): void {
  const address = readAddress()
  const isShown = readWord(address.query, 'status') === 'failed' && address.isGrouped === isGrouped
  const query = writeWord(address.query, 'status', isShown ? undefined : 'failed')
  go(toView({ screen: 'deliveries', query, isGrouped: isGrouped && !isShown } satisfies Partial<Address>))
}

/** Handles a key on the list. Keys act on the open delivery, or on the row of the cursor if the list shows it. */
function pressOnList(key: string): boolean {
  const { delivery, isGrouped } = readAddress()
  const id = delivery ?? (isGrouped ? undefined : listShown().rows.find((row) => row.id === store.cursor)?.id)
  if (key === 'j' || key === 'k') move(key)
  else if (key === '.') release()
  else if (key === 'Escape') leave(delivery)
  else if (id === undefined) return false
  else if (key === 'Enter') go({ delivery: id })
  else return pressOnRow(key, id)
  return true
}

function pressOnRow(key: string, id: string): boolean {
  const webhook = store.webhook(store.rows.find(id)?.webhook ?? '')
  if (key === 'r') resend(id)
  else if (key === 'e') store.set({ dialog: { kind: 'edit', id } })
  else if (key === 'c') copyDelivery(id, 'curl')
  else if (key === 'm') store.pin(id)
  else if (key === 'p' && webhook !== undefined) pauseOrResume(webhook)
  else return false
  return true
}

function pressOnInbox(key: string, item: string | undefined): boolean {
  if (key === 'j' || key === 'k') moveFocus(key)
  else if (item === undefined) return false
  else if (key === 'Escape') closeItem(item)
  else if (key === 'r' && isInboxWritable()) actOnItem(replay, item, 'replayed')
  else return false
  return true
}

/** Returns the next or the previous of several, or the first if none is at that place. */
function takeNext<T>(all: readonly T[], at: number, key: 'j' | 'k'): T | undefined {
  return all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, key === 'j' ? at + 1 : at - 1))]
}

/** Moves the focus to another event of the inbox, and opens it if one was open. */
function moveFocus(key: 'j' | 'k'): void {
  const links = [...document.querySelectorAll<HTMLAnchorElement>('a.item')]
  const { item } = readAddress()
  const at = links.findIndex((link) => link === document.activeElement || link.dataset.key === item)
  const link = takeNext(links, at, key)
  link?.focus()
  if (item !== undefined) go({ item: link?.dataset.key }, false)
}

/** Moves the cursor, and an open delivery with it. */
function move(key: 'j' | 'k'): void {
  const { delivery } = readAddress()
  const { rows } = listShown()
  const at = rows.findIndex(({ id }) => id === (delivery ?? store.cursor))
  const row = takeNext(rows, at, key)
  if (row === undefined) return
  select(row.id)
  // The focus goes to the row, so that Enter no longer belongs to a button that was pressed before.
  focusSoon(`#row-${CSS.escape(row.id)}`)
  if (delivery !== undefined) go({ delivery: row.id }, false)
}

/** Leaves the detail for the list, or removes the cursor from the list. */
function leave(delivery: string | undefined): void {
  if (delivery !== undefined) return closeDelivery(delivery)
  select(undefined)
  release()
}

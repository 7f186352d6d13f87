import {
  actOnItem,
  closeDelivery,
  closeItem,
  copyDelivery,
  focusSoon,
  moveClock,
  pauseOrResume,
  resend,
  switchTheme,
} from './actions.ts'
import { go, listScreens, readAddress, toView } from './address.ts'
import { IS_ALONE } from './api.ts'
import { readWord, writeWord } from './filter.ts'
import { isInboxWritable, replay } from './inbox.ts'
import { listShown, release, select } from './list.ts'
import { store } from './store.ts'

/** Keys as the help lists them, and their function, which returns false if the key has no meaning here. */
type Key = readonly [names: string, text: string, run: (key: string) => unknown]

/** The keys that an inbox alone has too. */
const INBOX_KEYS: readonly Key[] = [
  ['j  k  ↓  ↑', 'next, previous row', move],
  ['Enter', 'open it', () => onRow((id) => go({ delivery: id }))],
  ['Esc', 'back', leave],
  ['r', 'resend the same bytes; in the inbox, replay', repeat],
  ['R', 'replay all that match', pressButton],
  ['x', 'select the row', () => pressInRow('input')],
  ['X', 'select all of the page', pressButton],
  ['[  ]', 'first page, next page', pressButton],
  ['g', 'group failures by cause', () => (readAddress().screen === 'inbox' ? pressButton('g') : showFailed(true))],
  ['/', 'filter', () => focusSoon('#filter, .filters select')],
  ['u', 'times in UTC, or local', () => store.setUtc(!store.isUtc)],
  ['l', 'light, dark, or as the system', switchTheme],
  ['?', 'these keys', () => store.set({ dialog: { kind: 'help' } })],
]

const KEYS: readonly Key[] = [
  ...INBOX_KEYS,
  ['e', 'edit and resend', () => onRow((id) => store.set({ dialog: { kind: 'edit', id } }), 'e')],
  ['c', 'copy as curl', () => onRow((id) => copyDelivery(id, 'curl'))],
  ['m', 'pin it: “Clear the list” keeps it', () => onRow((id) => store.pin(id))],
  ['p', 'pause its webhook, or resume it', () => onRow(pauseWebhookOf, 'p')],
  ['a', 'actions of the row, or of what is open', openMenu],
  ['t', 'trigger an event', () => store.set({ dialog: { kind: 'trigger' } })],
  ['+', 'new webhook, new record', pressButton],
  ['n', 'next attempt (manual clock)', () => store.state?.clock.isManual === true && moveClock({ next: true })],
  ['f', 'failed deliveries only, or all', () => showFailed(false)],
  ['.', 'show new deliveries', () => release()],
]

const NAMES: Readonly<Record<string, string>> = { ArrowDown: '↓', ArrowUp: '↑', Escape: 'Esc' }

/** The keys, as the help lists them. */
export function listKeys(): readonly (readonly [names: string, text: string])[] {
  if (IS_ALONE) return INBOX_KEYS.map(([names, text]) => [names, text])
  return [...KEYS.map(([names, text]) => [names, text] as const), [`1 – ${listScreens().length}`, 'screens']]
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
    if (press(event.key)) event.preventDefault()
  })
}

/** Handles a key. Returns false if the key has no meaning here. */
function press(key: string): boolean {
  const tab = listScreens()[Number(key) - 1]
  if (tab !== undefined) go(toView({ screen: tab[0] }))
  const found = (IS_ALONE ? INBOX_KEYS : KEYS).find(([names]) => names.split('  ').includes(NAMES[key] ?? key))
  return tab !== undefined || (found !== undefined && found[2](key) !== false)
}

/** Presses the button of the screen that has the key. */
function pressButton(key: string): boolean {
  const buttons = [...document.querySelectorAll<HTMLElement>('main button')]
  const button = buttons.find(({ dataset }) => dataset.hotkey === key)
  button?.click()
  return button !== undefined
}

/** Presses a control of the row that has the focus. */
function pressInRow(selector: string): boolean {
  const control = document.activeElement?.closest('tr')?.querySelector<HTMLElement>(selector)
  control?.click()
  return control != null
}

/** Acts on the open delivery, or on the row of the cursor if the list shows it; on another screen, presses the button of the row with the key. */
function onRow(work: (id: string) => unknown, key?: string): unknown {
  const { screen, delivery, isGrouped } = readAddress()
  if (screen !== 'deliveries') return key !== undefined && pressInRow(`[data-hotkey=${key}]`)
  const id = delivery ?? (isGrouped ? undefined : listShown().rows.find((row) => row.id === store.cursor)?.id)
  return id !== undefined && work(id)
}

function pauseWebhookOf(id: string): unknown {
  const webhook = store.webhook(store.rows.find(id)?.webhook ?? '')
  return webhook !== undefined && pauseOrResume(webhook)
}

/** Resends a delivery, or replays the event of the inbox that is open or has the focus. */
function repeat(): unknown {
  const { screen, item = (document.activeElement as HTMLElement | null)?.dataset.key } = readAddress() // a page has HTML only
  if (screen === 'deliveries') return onRow((id) => resend(id))
  return item !== undefined && isInboxWritable() && actOnItem(replay, item, 'replayed')
}

/** Opens the menu of the row that has the focus, of the open delivery, or of the list. */
function openMenu(): unknown {
  const menus = [...document.querySelectorAll<HTMLDetailsElement>('.menu')]
  const row = document.activeElement?.closest('tr')
  const menu = menus.find((each) => row?.contains(each)) ?? menus.at(-1)
  if (menu === undefined) return false
  menu.open = true
  return menu.querySelector('button')?.focus()
}

/** Shows the failed deliveries, in a list or by cause; all of them again if these are shown. */
export function showFailed(isGrouped: boolean): void {
  const address = readAddress()
  const isShown = readWord(address.query, 'status') === 'failed' && address.isGrouped === isGrouped
  const query = writeWord(address.query, 'status', isShown ? undefined : 'failed')
  go(toView({ screen: 'deliveries', query, isGrouped: isGrouped && !isShown }))
}

/** Returns the next or the previous of several, or the first if none is at that place. */
function takeNext<T>(all: readonly T[], at: number, key: string): T | undefined {
  const next = key === 'j' || key === 'ArrowDown' ? at + 1 : at - 1
  return all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, next))]
}

/** Moves the focus in an open menu, or to another row, and opens the row if one was open. */
function move(key: string): unknown {
  const { screen, delivery, item, isGrouped } = readAddress()
  const menu = [...document.querySelectorAll<HTMLElement>('.menu[open] button')]
  if (screen === 'deliveries' && !isGrouped && menu.length === 0) return moveCursor(key, delivery)
  const rows = [...document.querySelectorAll<HTMLElement>('main tbody tr')]
  const places = menu.length > 0 ? menu : rows.flatMap((row) => row.querySelector<HTMLElement>('a, button') ?? [])
  const at = places.findIndex((place) => place === document.activeElement || (item && place.dataset.key === item))
  const place = takeNext(places, at, key)
  place?.focus()
  if (item !== undefined && menu.length === 0) go({ item: place?.dataset.key }, false)
  return place !== undefined
}

/** Moves the cursor of the list, and an open delivery with it. */
function moveCursor(key: string, delivery: string | undefined): void {
  const { rows } = listShown()
  const at = rows.findIndex(({ id }) => id === (delivery ?? store.cursor))
  const row = takeNext(rows, at, key)
  if (row === undefined) return
  select(row.id)
  // The focus goes to the row, so that Enter no longer belongs to a button that was pressed before.
  focusSoon(`#row-${CSS.escape(row.id)}`)
  if (delivery !== undefined) go({ delivery: row.id }, false)
}

/** Closes an open menu, leaves the detail for the list, or removes the cursor from the list. */
function leave(): unknown {
  const { delivery, item } = readAddress()
  const menu = document.querySelector<HTMLDetailsElement>('.menu[open]')
  if (menu !== null) {
    menu.open = false
    return menu.querySelector('summary')?.focus()
  }
  if (delivery !== undefined) return closeDelivery(delivery)
  if (item !== undefined) return closeItem(item)
  select(undefined)
  return release()
}

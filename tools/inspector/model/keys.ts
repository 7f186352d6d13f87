import { act, closeDetail, copyDelivery, focusSoon, moveClock, pauseOrResume, tryOnce } from './actions.ts'
import { go, listScreens, readAddress, toView } from './address.ts'
import { IS_ALONE } from './api.ts'
import { listShown, release } from './list.ts'
import { store } from './store.ts'

/** Keys as the help lists them, and their function, which returns false if the key has no meaning here. */
type Key = readonly [names: string, text: string, run: (key: string) => unknown]

/** The keys that an inbox alone has too. */
const INBOX_KEYS: readonly Key[] = [
  ['j  k  ↓  ↑', 'next, previous row', move],
  ['Enter', 'open it', () => false], // the link of the row
  ['Esc', 'back', leave],
  ['r', 'try it again', () => onRow((id) => tryOnce(id))],
  ['R', 'try all shown again', pressButton],
  ['g', 'group failures by cause', pressButton],
  ['/', 'filter', () => focusSoon('#filter')],
  ['?', 'these keys', () => store.set({ dialog: { kind: 'help' } })],
]

const KEYS: readonly Key[] = [
  ...INBOX_KEYS,
  ['e', 'edit and send', () => onRow((id) => store.set({ dialog: { kind: 'edit', id } }), 'e')],
  ['c', 'copy as curl', () => onRow((id) => copyDelivery(id, 'curl'))],
  ['p', 'pause its webhook, or resume it', () => onRow(pauseWebhookOf, 'p')],
  ['a', 'actions of the row, or of what is open', openMenu],
  ['t', 'trigger an event', () => store.set({ dialog: { kind: 'trigger' } })],
  [
    'n',
    'next attempt (manual clock)',
    () => store.state?.clock.isManual === true && act(() => moveClock({ next: true })),
  ],
  ['f', 'failed deliveries only, or all', pressButton],
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

/** The key of the row that has the focus: the id of a delivery, or the key of an event of the inbox. */
function readFocused(): string | undefined {
  return (document.activeElement as HTMLElement | null)?.dataset.key // a page has HTML only
}

/** Acts on the open delivery or event, or on the row that has the focus; on another screen, presses the button of the row with the key. */
function onRow(work: (id: string) => unknown, key?: string): unknown {
  const { screen, open = readFocused() } = readAddress()
  if (screen !== 'webhooks') return open !== undefined && work(open)
  const button = document.activeElement?.closest('tr')?.querySelector<HTMLElement>(`[data-hotkey=${key}]`)
  button?.click()
  return button != null
}

function pauseWebhookOf(id: string): unknown {
  const webhook = store.webhook(store.rows.find(id)?.webhook ?? '')
  return webhook !== undefined && pauseOrResume(webhook)
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

/** Moves the focus in an open menu, or to another row, and opens the row if one was open. */
function move(key: string): unknown {
  const { screen, isGrouped, open } = readAddress()
  const step = key === 'j' || key === 'ArrowDown' ? 1 : -1
  const menu = [...document.querySelectorAll<HTMLElement>('.menu[open] button')]
  if (screen !== 'webhooks' && !isGrouped && menu.length === 0) {
    const { rows } = listShown()
    const { cursor } = store
    const from = cursor?.hasFocus === false ? cursor.id : (open ?? readFocused() ?? cursor?.id)
    const at = rows.findIndex(({ id }) => id === from)
    const row = rows[stepFrom(at, step, rows.length)]
    if (row === undefined) return false
    if (open !== undefined) go({ open: row.id }, false)
    return store.set({ cursor: { id: row.id, hasFocus: false } })
  }
  const lines = [...document.querySelectorAll<HTMLElement>(':is(.list, .page) tbody tr')]
  const places = menu.length > 0 ? menu : lines.flatMap((line) => line.querySelector<HTMLElement>('a, button') ?? [])
  const at = places.indexOf(document.activeElement as HTMLElement) // -1 for any other
  const place = places[stepFrom(at, step, places.length)]
  place?.focus()
  return place !== undefined
}

/** The next place of a list, or the first one if there was none before. */
function stepFrom(at: number, step: number, count: number): number {
  return at < 0 ? 0 : Math.min(count - 1, Math.max(0, at + step))
}

/** Closes an open menu, leaves the detail for the list, or takes the focus from the list. */
function leave(): unknown {
  const { open } = readAddress()
  const menu = document.querySelector<HTMLDetailsElement>('.menu[open]')
  if (menu !== null) {
    menu.open = false
    return menu.querySelector('summary')?.focus()
  }
  if (open !== undefined) return closeDetail(open)
  if (document.activeElement instanceof HTMLElement) document.activeElement.blur()
  return release()
}

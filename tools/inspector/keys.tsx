import { Dialog } from './dialogs/dialog.tsx'
import { openEdit } from './dialogs/edit-dialog.tsx'
import { openTrigger } from './dialogs/trigger-dialog.tsx'
import { act, closeDetail, copyDelivery, moveClock, tryOnce } from './model/actions.ts'
import { go, listScreens, readAddress, toView } from './model/address.ts'
import { IS_ALONE } from './model/api.ts'
import { FILTER_KEYS } from './model/filter.ts'
import { listShown, release } from './model/list.ts'
import { store } from './model/store.ts'
import { findLink, readFocused } from './parts/row-table.tsx'
import { Facts } from './parts/small.tsx'

/** Keys as the help lists them, and their function, which returns false if the key has no meaning here. */
type Key = readonly [names: string, text: string, run: (key: string) => unknown]

const INBOX_KEYS: readonly Key[] = [
  ['j  k  ↓  ↑', 'next, previous row', move],
  ['Enter', 'open it', () => false], // the link of the row
  ['Esc', 'back', leave],
  ['r', 'try it again', () => onRow(tryOnce)],
  ['R', 'try all shown again', pressButton],
  ['g', 'group failures by cause', pressButton],
  ['/', 'filter', () => document.querySelector<HTMLElement>('#filter')?.focus()],
  ['?', 'these keys', openHelp],
]

const KEYS: readonly Key[] = [
  ...INBOX_KEYS,
  ['e', 'edit and send', () => onRow(openEdit)],
  ['c', 'copy as curl', () => onRow((id) => copyDelivery(id, 'curl'))],
  ['t', 'trigger an event', openTrigger],
  ['n', 'next attempt (manual clock)', () => store.state?.clock.isManual && act(() => moveClock({ next: true }))],
  ['f', 'failed deliveries only, or all', pressButton],
  ['.', 'show new deliveries', release],
]

const NAMES: Readonly<Record<string, string>> = { ArrowDown: '↓', ArrowUp: '↑', Escape: 'Esc' }

export function openHelp(): void {
  const keys = (IS_ALONE ? INBOX_KEYS : KEYS).map(([names, text]) => [names, text] as const)
  const screens = IS_ALONE ? [] : ([[`1 – ${listScreens().length}`, 'screens']] as const)
  const draw = () => (
    <Dialog title="Keys and filters">
      <div class="columns">
        {[[...keys, ...screens], FILTER_KEYS].map((terms) => (
          <Facts key={terms[0]?.[0]} facts={terms.map(([term, text]) => [<kbd>{term}</kbd>, text])} />
        ))}
      </div>
    </Dialog>
  )
  store.set({ dialog: draw })
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

function press(key: string): boolean {
  const tab = listScreens()[Number(key) - 1]
  if (tab !== undefined) go(toView({ screen: tab[0] }))
  const found = (IS_ALONE ? INBOX_KEYS : KEYS).find(([names]) => names.split('  ').includes(NAMES[key] ?? key))
  return tab !== undefined || (found !== undefined && found[2](key) !== false)
}

function pressButton(key: string): boolean {
  const button = document.querySelector<HTMLElement>(`main [data-hotkey="${key}"]`)
  button?.click()
  return button !== null
}

function onRow(work: (id: string) => unknown): unknown {
  const { open = readFocused() } = readAddress()
  return open !== undefined && work(open)
}

/** Moves the focus to another row, and opens the row if one was open. */
function move(key: string): unknown {
  const { screen, isGrouped, open } = readAddress()
  const step = key === 'j' || key === 'ArrowDown' ? 1 : -1
  if (screen === 'webhooks' || isGrouped) {
    const lines = [...document.querySelectorAll<HTMLElement>(':is(.list, .page) tbody tr')]
    const places = lines.flatMap((line) => line.querySelector<HTMLElement>('a, button') ?? [])
    return places[stepFrom(places.indexOf(document.activeElement as HTMLElement), step, places.length)]?.focus() // -1 for any other
  }
  const { rows } = listShown()
  const from = store.wanted ?? open ?? readFocused()
  const at = rows.findIndex(({ id }) => id === from)
  const row = rows[at < 0 ? Math.min(store.place, rows.length - 1) : stepFrom(at, step, rows.length)]
  if (row === undefined) return false
  if (open !== undefined) go({ open: row.id }, false)
  // Immediately if it is drawn: the next key acts on this row.
  findLink(row.id)?.focus({ preventScroll: true })
  return store.set({ wanted: row.id })
}

/** The next place of a list, or the first one if there was none before. */
function stepFrom(at: number, step: number, count: number): number {
  return at < 0 ? 0 : Math.min(count - 1, Math.max(0, at + step))
}

function leave(): unknown {
  const { open } = readAddress()
  if (open !== undefined) return closeDetail(open)
  if (document.activeElement instanceof HTMLElement) document.activeElement.blur()
  return release()
}

import { page } from './page-model.ts'

/** A dialog that is open. */
type Dialog =
  | { readonly kind: 'trigger' }
  | { readonly kind: 'edit'; readonly id: string }
  | { readonly kind: 'bulk'; readonly bulk: Bulk }
  | { readonly kind: 'text'; readonly title: string; readonly text: string }
  | { readonly kind: 'help' }

/** One action on many deliveries or events. */
export interface Bulk {
  readonly verb: string
  /** Noun of the targets. */
  readonly noun: readonly [one: string, several: string]
  readonly text: string
  /** Calls in their order. Each rejects if it is refused. */
  readonly calls: readonly (() => Promise<unknown>)[]
  /** Reasons why some are left out, each with their number. */
  readonly leftOut: ReadonlyMap<string, number>
}

/** Chosen colours; `system` follows the machine. */
export type Theme = 'system' | 'light' | 'dark'

const PINS = 'postern.pins'
const CLEARED = 'postern.cleared'
const THEME = 'postern.theme'

/** State of the user interface that is not in the URL. */
class Ui {
  dialog: Dialog | undefined
  /** The row that keys act on. */
  cursor: string | undefined
  /** Rows with a higher order are held back, so that the row being read does not move; undefined shows all. */
  held: number | undefined
  /** This delivery and older ones are hidden unless pinned. A time would also hide new ones while a manual clock stands still. */
  cleared: string | undefined = read(CLEARED) ?? undefined
  pinned: ReadonlySet<string> = new Set((read(PINS) ?? '').split(',').filter(Boolean))
  theme: Theme = readTheme()

  open(dialog: Dialog | undefined): void {
    this.dialog = dialog
    page.changed()
  }

  /** Puts the cursor on a row, and holds the list still. */
  select(id: string | undefined): void {
    this.cursor = id
    if (id !== undefined) this.hold()
    page.changed()
  }

  hold(): void {
    this.held ??= page.rows.lastOrder
  }

  release(): void {
    if (this.held === undefined) return
    this.held = undefined
    page.changed()
  }

  pin(id: string): void {
    const pinned = new Set(this.pinned)
    if (!pinned.delete(id)) pinned.add(id)
    this.pinned = pinned
    write(PINS, [...pinned].join(','))
    page.changed()
  }

  /** Hides old rows. @param last the newest one to hide; undefined shows all again */
  clear(last: string | undefined): void {
    this.cleared = last
    write(CLEARED, last ?? '')
    page.changed()
  }

  setTheme(theme: Theme): void {
    this.theme = theme
    paint()
    if (theme === 'system') localStorage.removeItem(THEME)
    else localStorage.setItem(THEME, theme)
    page.changed()
  }
}

/** The one state of the user interface. */
export const ui: Ui = new Ui()

const prefersDark = matchMedia('(prefers-color-scheme: dark)')

/** Sets the colours of the page. */
export function paint(): void {
  document.documentElement.dataset.theme = ui.theme === 'system' && prefersDark.matches ? 'dark' : ui.theme
}

prefersDark.addEventListener('change', paint)

function readTheme(): Theme {
  const theme = localStorage.getItem(THEME)
  return theme === 'light' || theme === 'dark' ? theme : 'system'
}

function read(name: string): string | null {
  return sessionStorage.getItem(name)
}

function write(name: string, value: string): void {
  sessionStorage.setItem(name, value)
}

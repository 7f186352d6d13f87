import { page } from './page-model.ts'

/** A dialog that is open. */
type Dialog =
  | { readonly kind: 'trigger' }
  | { readonly kind: 'edit'; readonly id: string }
  | { readonly kind: 'bulk'; readonly bulk: Bulk }
  | { readonly kind: 'text'; readonly title: string; readonly text: string }
  | { readonly kind: 'help' }

/** One thing that is done with many. */
export interface Bulk {
  readonly verb: string
  /** What it is done with: one, and several. */
  readonly noun: readonly [one: string, several: string]
  readonly text: string
  /** The first is made first. Each rejects if it is refused. */
  readonly calls: readonly (() => Promise<unknown>)[]
  /** Why some are left out, with their number. */
  readonly leftOut: ReadonlyMap<string, number>
}

/** Colours that are forced; `system` follows the machine. */
export type Theme = 'system' | 'light' | 'dark'

const PINS = 'postern.pins'
const CLEARED = 'postern.cleared'
const THEME = 'postern.theme'

/** What the user has set and the URL does not say. */
class Ui {
  dialog: Dialog | undefined
  /** The row that keys act on. */
  cursor: string | undefined
  /** Rows with a higher order are held back, so that the one being read does not move; undefined shows all. */
  held: number | undefined
  /** This delivery and those before it are hidden unless they are pinned. A time would hide what a manual clock makes later. */
  cleared: string | undefined = read(CLEARED) ?? undefined
  pinned: ReadonlySet<string> = new Set((read(PINS) ?? '').split(',').filter(Boolean))
  theme: Theme = readTheme()
  /** The attempt that is shown of the open delivery; undefined for the last one. */
  attempt: number | undefined

  open(dialog: Dialog | undefined): void {
    this.dialog = dialog
    page.changed()
  }

  /** Puts the cursor on a row, and keeps the list where it is. */
  select(id: string | undefined): void {
    if (id !== this.cursor) this.attempt = undefined
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

  /** @param last the newest that is hidden; undefined brings back what was hidden */
  clear(last: string | undefined): void {
    this.cleared = last
    write(CLEARED, last ?? '')
    page.changed()
  }

  setTheme(theme: Theme): void {
    this.theme = theme
    document.documentElement.dataset.theme = theme
    if (theme === 'system') localStorage.removeItem(THEME)
    else localStorage.setItem(THEME, theme)
    page.changed()
  }
}

/** The one state of the user interface. */
export const ui: Ui = new Ui()

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

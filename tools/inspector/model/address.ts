import { IS_ALONE } from './api.ts'
import { store } from './store.ts'

const SCREENS = [
  ['deliveries', 'Deliveries'],
  ['inbox', 'Inbox'],
  ['webhooks', 'Webhooks'],
] as const

export type Screen = (typeof SCREENS)[number][0]

const START: Screen = IS_ALONE ? 'inbox' : 'deliveries'

export function listScreens(): readonly (typeof SCREENS)[number][] {
  if (IS_ALONE) return SCREENS.filter(([screen]) => screen === 'inbox')
  return store.state?.hasInbox ? SCREENS : SCREENS.filter(([screen]) => screen !== 'inbox')
}

/** The view of the page. Its URL holds all of it, so that a view can be opened in a new tab, or shared. */
export interface Address {
  readonly screen: Screen
  readonly query: string
  readonly isGrouped: boolean
  readonly open: string | undefined
}

let shown: readonly [search: string, address: Address] | undefined

/** Reads the view from the URL: the same object until the URL changes. */
export function readAddress(): Address {
  if (shown?.[0] !== location.search) shown = [location.search, parse(location.search)]
  return shown[1]
}

function parse(search: string): Address {
  const parameters = new URLSearchParams(search)
  const read = (name: string) => parameters.get(name) ?? undefined
  return {
    screen: IS_ALONE ? START : (SCREENS.find(([screen]) => screen === read('screen'))?.[0] ?? START),
    query: read('q') ?? '',
    isGrouped: read('by') === 'cause',
    open: read('d'),
  }
}

export function toPageUrl({ screen, query, isGrouped, open }: Address): string {
  const all = { screen: screen === START ? '' : screen, q: query, by: isGrouped ? 'cause' : '', d: open }
  const parts = Object.entries(all).flatMap(([name, value]) => (value ? [[name, value]] : []))
  return parts.length === 0 ? location.pathname : `${location.pathname}?${new URLSearchParams(parts)}`
}

/** Shows another view, without a dialog over it. @param isStep true if the browser's Back returns to the previous one */
export function go(change: Partial<Address>, isStep = true): void {
  const url = toPageUrl({ ...readAddress(), ...change })
  if (url === location.pathname + location.search) return
  if (change.query !== undefined) store.heldFrom = Number.POSITIVE_INFINITY
  if (isStep) history.pushState(null, '', url)
  else history.replaceState(null, '', url)
  store.set({ dialog: undefined })
}

/** Completes a view that a link shows: nothing is open in it, and no screen has the filter of another. */
export function toView(view: Partial<Address>): Partial<Address> {
  return { open: undefined, ...(view.screen !== undefined && { query: '', isGrouped: false }), ...view }
}

/** Follows a link without reloading the page, unless the click asks the browser for a new tab or window. */
export function follow(event: MouseEvent, show: () => void): void {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return
  event.preventDefault()
  show()
}

addEventListener('popstate', () => store.set({ heldFrom: Number.POSITIVE_INFINITY }))

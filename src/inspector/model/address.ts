import type { InboxStateName } from '../../emulator/inspector/inbox-shapes.ts'
import { IS_ALONE } from './api.ts'
import { page } from './page-model.ts'

const SCREENS = [
  ['deliveries', 'Deliveries'],
  ['failed', 'Failed'],
  ['webhooks', 'Webhooks'],
  ['records', 'Records'],
  ['calls', 'API log'],
  ['clock', 'Clock & faults'],
  ['assumptions', 'Assumptions'],
  ['inbox', 'Inbox'],
] as const

/** The name of a screen. */
export type Screen = (typeof SCREENS)[number][0]

const START: Screen = IS_ALONE ? 'inbox' : 'deliveries'

/** The available screens, in the order of their keys. */
export function listScreens(): readonly (typeof SCREENS)[number][] {
  if (IS_ALONE) return SCREENS.filter(([screen]) => screen === 'inbox')
  return page.state?.hasInbox ? SCREENS : SCREENS.filter(([screen]) => screen !== 'inbox')
}

/** The view of the page. Its URL holds all of it, so that a view can be opened in a new tab, or shared. */
export interface Address {
  readonly screen: Screen
  /** The filter of the list. */
  readonly query: string
  /** The delivery that is open. */
  readonly delivery: string | undefined
  /** Account and model of the records. */
  readonly account: string | undefined
  readonly model: string | undefined
  /** Inbox: state of the listed events, position after which the list begins, and key of the open event. */
  readonly state: InboxStateName
  readonly after: string | undefined
  readonly item: string | undefined
}

const STATES: readonly InboxStateName[] = ['dead', 'waiting', 'running']

/** Reads the view from the URL. */
export function readAddress(): Address {
  const parameters = new URLSearchParams(location.search)
  const read = (name: string) => parameters.get(name) ?? undefined
  return {
    screen: IS_ALONE ? START : (SCREENS.find(([screen]) => screen === read('screen'))?.[0] ?? START),
    query: read('q') ?? '',
    delivery: read('d'),
    account: read('account'),
    model: read('model'),
    state: STATES.find((state) => state === read('state')) ?? 'dead',
    after: read('after'),
    item: read('item'),
  }
}

/** The URL of a view. Parts that are as at the start are left out. */
export function toPageUrl({ screen, query, delivery, state, ...others }: Address): string {
  const own = { screen: screen === START ? '' : screen, q: query, d: delivery, state: state === 'dead' ? '' : state }
  const parts = Object.entries({ ...own, ...others }).flatMap(([name, value]) => (value ? [[name, value]] : []))
  return parts.length === 0 ? location.pathname : `${location.pathname}?${new URLSearchParams(parts)}`
}

/** Shows another view. @param isStep true if the browser's Back returns to the previous one */
export function go(change: Partial<Address>, isStep = true): void {
  const url = toPageUrl({ ...readAddress(), ...change })
  if (url === location.pathname + location.search) return
  if (isStep) history.pushState(null, '', url)
  else history.replaceState(null, '', url)
  page.changed()
}

/** Completes a view that a link shows: of the present one it keeps the filter, and nothing that is open. */
export function toView(view: Partial<Address>): Partial<Address> {
  const nothing = { delivery: undefined, account: undefined, model: undefined, after: undefined, item: undefined }
  return { ...nothing, state: 'dead', ...view }
}

/** Follows a link without reloading the page, unless the click asks the browser for a new tab or window. */
export function follow(event: MouseEvent, show: () => void): void {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return
  event.preventDefault()
  show()
}

addEventListener('popstate', () => page.changed())

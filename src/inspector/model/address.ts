import type { InboxStateName } from '../shapes.ts'
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
  const name = parameters.get('screen')
  return {
    screen: IS_ALONE ? START : (SCREENS.find(([screen]) => screen === name)?.[0] ?? START),
    query: parameters.get('q') ?? '',
    delivery: parameters.get('d') ?? undefined,
    account: parameters.get('account') ?? undefined,
    model: parameters.get('model') ?? undefined,
    state: STATES.find((state) => state === parameters.get('state')) ?? 'dead',
    after: parameters.get('after') ?? undefined,
    item: parameters.get('item') ?? undefined,
  }
}

/** The URL of a view. */
export function toPageUrl({ screen, query, delivery, account, model, state, after, item }: Address): string {
  const parameters = new URLSearchParams()
  if (screen !== START) parameters.set('screen', screen)
  if (query !== '') parameters.set('q', query)
  if (delivery !== undefined) parameters.set('d', delivery)
  if (account !== undefined) parameters.set('account', account)
  if (model !== undefined) parameters.set('model', model)
  if (state !== 'dead') parameters.set('state', state)
  if (after !== undefined) parameters.set('after', after)
  if (item !== undefined) parameters.set('item', item)
  const text = parameters.toString()
  return text === '' ? location.pathname : `${location.pathname}?${text}`
}

/** Shows another view. @param isStep true if the browser's Back returns to the previous one */
export function go(change: Partial<Address>, isStep = true): void {
  const url = toPageUrl({ ...readAddress(), ...change })
  if (url === location.pathname + location.search) return
  if (isStep) history.pushState(null, '', url)
  else history.replaceState(null, '', url)
  page.changed()
}

/** Clears the parts of a view that belong to a single screen. */
export const NOTHING_OPEN = {
  ...{ delivery: undefined, account: undefined, model: undefined, after: undefined, item: undefined },
  state: 'dead',
} as const satisfies Partial<Address>

/** Shows a screen, and clears the parts of the view that belong to another one. */
export function goTo(screen: Screen): void {
  go({ ...NOTHING_OPEN, screen })
}

/** Follows a link without reloading the page, unless the click asks the browser for a new tab or window. */
export function follow(event: MouseEvent, show: () => void): void {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return
  event.preventDefault()
  show()
}

addEventListener('popstate', () => page.changed())

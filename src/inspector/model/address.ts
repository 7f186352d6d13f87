import { page } from './page-model.ts'

/** The screens, in the order of their keys. */
export const SCREENS = [
  ['deliveries', 'Deliveries'],
  ['failed', 'Failed'],
  ['webhooks', 'Webhooks'],
  ['records', 'Records'],
  ['calls', 'API log'],
  ['clock', 'Clock & faults'],
  ['assumptions', 'Assumptions'],
] as const

/** The name of a screen. */
export type Screen = (typeof SCREENS)[number][0]

/** What the page shows, as its URL says it: it can be opened in a new tab, and sent to somebody. */
export interface Address {
  readonly screen: Screen
  /** The filter of the list. */
  readonly query: string
  /** The delivery that is open. */
  readonly delivery: string | undefined
  /** Account and model of the records. */
  readonly account: string | undefined
  readonly model: string | undefined
}

/** What the URL says. */
export function readAddress(): Address {
  const parameters = new URLSearchParams(location.search)
  const name = parameters.get('screen')
  return {
    screen: SCREENS.find(([screen]) => screen === name)?.[0] ?? 'deliveries',
    query: parameters.get('q') ?? '',
    delivery: parameters.get('d') ?? undefined,
    account: parameters.get('account') ?? undefined,
    model: parameters.get('model') ?? undefined,
  }
}

/** The URL of a view. */
export function toUrl({ screen, query, delivery, account, model }: Address): string {
  const parameters = new URLSearchParams()
  if (screen !== 'deliveries') parameters.set('screen', screen)
  if (query !== '') parameters.set('q', query)
  if (delivery !== undefined) parameters.set('d', delivery)
  if (account !== undefined) parameters.set('account', account)
  if (model !== undefined) parameters.set('model', model)
  const text = parameters.toString()
  return text === '' ? location.pathname : `${location.pathname}?${text}`
}

/** Shows another view. @param isStep whether the browser's Back leads to the one before */
export function go(change: Partial<Address>, isStep = true): void {
  const url = toUrl({ ...readAddress(), ...change })
  if (url === location.pathname + location.search) return
  if (isStep) history.pushState(null, '', url)
  else history.replaceState(null, '', url)
  page.changed()
}

/** Shows a screen without what belongs to others. */
export function goTo(screen: Screen): void {
  go({ screen, delivery: undefined, account: undefined, model: undefined })
}

/** Follows a link without loading the page anew, unless the click asks the browser for a tab or a window. */
export function follow(event: MouseEvent, show: () => void): void {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return
  event.preventDefault()
  show()
}

addEventListener('popstate', () => page.changed())

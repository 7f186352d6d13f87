import { readNodeEnv } from '../host/node-env.ts'
import { quote } from '../protocol/show.ts'
import type { Shared } from './shared.ts'

/*
 * Other receivers of this process, by which events are lost or run twice. Warned of, not refused: an app may mean it. What is kept of them is
 * small, since an app that makes a receiver for each request never closes one.
 */

const MOST_KEPT = 1_000
/** Number of receivers in a row with one delivery each, after which they seem to be made for each request. */
const MOST_SHORT = 100
const MADE_OFTEN = `The last ${MOST_SHORT} receivers of one name got one delivery each before the next was made. Make one receiver when the process starts, not one for each request: with memoryStore each forgets what the others have handled.`

/** Texts of receivers that are not closed, as in done events. */
const open = new Set<string>()
/** The number of receivers that are not closed, by their names and the places of their inboxes. */
const byPlace = new Map<string, number>()
/** The last receiver of each name, and the number of those in a row that got one delivery each. */
const lastMade = new Map<string, { readonly told: Shared['told']; readonly short: number }>()

/** Warns of receivers that share the inbox of a new one, and of receivers that are made for each request. */
export function warnOfNeighbours(shared: Shared): void {
  const { reporter, settings, told } = shared
  const place = placeOf(shared)
  const others = byPlace.get(place) ?? 0
  if (place !== '') byPlace.set(place, others + 1)
  if (others > 0 && readNodeEnv() !== 'development')
    reporter.warnOnce(
      `Two receivers named "${settings.name}" of this process use the same inbox: the worker of either runs the events of both, by its own handlers. Make one receiver, or give each its own name and its own inbox. The name "default", given explicitly, ends this line.`,
    )
  const last = lastMade.get(settings.name)
  const short = last?.told.used === 1 ? last.short + 1 : 0
  if (lastMade.size === MOST_KEPT) lastMade.clear()
  lastMade.set(settings.name, { told, short })
  // Tests and reloaded modules make a receiver for each delivery, too.
  if (short === MOST_SHORT && !/^(test|development)$/.test(readNodeEnv() ?? '')) reporter.warnOnce(MADE_OFTEN)
}

/** Returns the text that tells this receiver from others in done events. Made late: while a module loads, some hosts have no randomness. */
export function toSelf({ told }: Shared): string {
  if (told.self === undefined) {
    if (open.size === MOST_KEPT) open.clear()
    told.self = Math.random().toString(36).slice(2, 8)
    open.add(told.self)
  }
  return told.self
}

/** Warns if the receiver that has handled an event is one of this process. Returns false if it is not. */
export function warnOfNeighbour({ reporter, settings }: Shared, self: string, type: string): boolean {
  if (!open.has(self)) return false
  reporter.warnOnce(
    `Another receiver named "${settings.name}" in this process handled ${quote(type)} before on the same store, so this one did not: each loses events to the other. Give each its own name, createReceiver({ name: '…' }).`,
  )
  return true
}

export function leave(shared: Shared): void {
  const place = placeOf(shared)
  const others = (byPlace.get(place) ?? 0) - 1
  if (others > 0) byPlace.set(place, others)
  else byPlace.delete(place)
  if (shared.told.self !== undefined) open.delete(shared.told.self)
}

/** Returns an empty text if the receiver has a name of its own, or its inbox has no place that can be compared. */
function placeOf({ settings: { name, inbox, isNamed } }: Shared): string {
  const place = inbox?.commandOptions?.join(' ') ?? '…'
  return isNamed || place.includes('…') ? '' : `${name} ${place}`
}

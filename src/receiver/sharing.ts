import { PosternError } from '../protocol/errors.ts'
import { quote } from '../protocol/show.ts'
import type { Shared } from './shared.ts'

/** Names of handlers that a store keeps with a done event. */
const MOST_NAMES = 16
/** Names that a line shows. */
const MOST_SHOWN = 3

interface Handled {
  readonly type: string
  readonly handlerNames: readonly string[]
}

/** Returns what a store keeps with a done event: which receiver of which process handled it, and handlers that finished. */
export function toDoneBy({ told }: Shared, marks: readonly string[]): readonly string[] {
  // Not when the receiver is made: some hosts have no randomness then.
  told.self ??= Math.random().toString(36).slice(2, 8)
  return [told.self, ...marks.slice(0, MOST_NAMES)]
}

/**
 * Reports once if another service seems to use the store under the same name: each would lose the events that the other handles first.
 *
 * @param finished names of handlers that finished in earlier runs
 */
export function reportOtherHandlers(
  { reporter, settings, told }: Shared,
  { type, handlerNames }: Handled,
  finished: readonly string[],
): void {
  if (told.sharing || finished.length === 0 || handlerNames.length === 0) return
  const mayBeCut = finished.length >= MOST_NAMES
  if (mayBeCut || finished.some((name) => handlerNames.includes(name))) return
  told.sharing = true
  const names = finished.slice(0, MOST_SHOWN).map(quote).join(', ')
  const message = `${quote(type)} was handled before under the receiver name "${settings.name}" by ${names}, which this receiver does not have. If another service uses this store, each loses events to the other: give each its own name, createReceiver({ name: '…' }). If you renamed or removed handlers, nothing is wrong. This is reported once.`
  reporter.error(new PosternError('store_shared', message))
}

/** Reports what `complete` was given for an event that is done. Nothing distinguishes two services with equal handlers but their names. */
export function reportDoneElsewhere(shared: Shared, event: Handled, by: readonly string[]): void {
  const { reporter, settings, told } = shared
  const [process, ...finished] = by
  if (process === undefined || process === told.self) return
  reportOtherHandlers(shared, event, finished)
  if (told.sharing || settings.isNamed) return
  told.sharing = true
  const message = `Another process handled ${quote(event.type)} before, so this one did not. That is right if both run the same service. If another service uses this store, each loses events to the other: give each its own name, createReceiver({ name: '…' }). The name "default", given explicitly, ends this line and keeps what the store knows.`
  // Every restart of a service that runs alone looks the same.
  reporter.logger.info({ code: 'store_shared' }, message)
}

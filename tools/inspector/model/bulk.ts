import type { Row } from '../../emulator/contract.ts'
import type { InboxRow } from '../../emulator/inspector/inbox-shapes.ts'
import { tryAgain, whyNotTried } from './actions.ts'
import { replay } from './inbox.ts'
import type { Bulk } from './store.ts'

const DELIVERIES = ['delivery', 'deliveries'] as const
const TEXT =
  'The oldest first. A failed delivery gets one more attempt, and a dead letter all of its tries; handlers that had finished do not run again.'

/** Plans to try deliveries again. @param rows newest first */
export function bulkOf(rows: readonly Row[]): Bulk {
  const leftOut = new Map<string, number>()
  const calls: Bulk['calls'][number][] = []
  // Deliveries of one dead letter are tried by one replay.
  const keys = new Set<string>()
  for (const row of rows.toReversed()) {
    const { state, key = row.id } = row.inbox ?? {}
    const reason = whyNotTried(row) ?? (state === 'dead' && keys.has(key) ? 'the same dead letter' : undefined)
    keys.add(key)
    if (reason !== undefined) leftOut.set(reason, (leftOut.get(reason) ?? 0) + 1)
    else calls.push(() => tryAgain(row))
  }
  return { noun: DELIVERIES, text: TEXT, calls, leftOut }
}

/** Plans replays of dead letters. @param rows newest first */
export function replaysOf(rows: readonly InboxRow[]): Bulk {
  const calls = rows.toReversed().map((row) => () => replay(row.key))
  return { noun: ['dead letter', 'dead letters'], text: TEXT, calls, leftOut: new Map() }
}

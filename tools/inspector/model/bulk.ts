import type { Row } from '../../emulator/contract.ts'
import { tryAgain, whyNotTried } from './actions.ts'
import type { Bulk } from './store.ts'

const TEXT =
  'The oldest first. A failed delivery gets one more attempt, and a dead letter all of its tries; handlers that had finished do not run again.'

/** Plans to try deliveries or dead letters again. @param rows newest first */
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
  const isInbox = rows[0]?.webhook === ''
  return { noun: isInbox ? ['dead letter', 'dead letters'] : ['delivery', 'deliveries'], text: TEXT, calls, leftOut }
}

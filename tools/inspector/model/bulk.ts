import type { Row } from '../../emulator/contract.ts'
import type { InboxRow } from '../../emulator/inspector/inbox-shapes.ts'
import { api, toPath } from './api.ts'
import { replay } from './inbox.ts'
import { whyNotResent, whyNotRetried } from './list.ts'
import type { Bulk } from './store.ts'

const DELIVERIES = ['delivery', 'deliveries'] as const
const RETRY = { verb: 'Retry', text: 'Each delivery gets one more attempt with the same event id, the oldest first.' }
const RESEND = { verb: 'Resend', text: 'The same bytes are sent again as new deliveries, the oldest first.' }

/** Plans retries or resends of deliveries. @param rows newest first */
export function bulkOf(action: 'retry' | 'resend', rows: readonly Row[]): Bulk {
  const whyNot = action === 'retry' ? whyNotRetried : whyNotResent
  const leftOut = new Map<string, number>()
  const calls: Bulk['calls'][number][] = []
  for (const row of rows.toReversed()) {
    const reason = whyNot(row)
    if (reason !== undefined) leftOut.set(reason, (leftOut.get(reason) ?? 0) + 1)
    else calls.push(() => api(`POST ${toPath(row.id)}/${action}`))
  }
  return { ...(action === 'retry' ? RETRY : RESEND), noun: DELIVERIES, calls, leftOut }
}

/** Plans replays of dead letters. @param rows newest first */
export function replaysOf(rows: readonly InboxRow[]): Bulk {
  const calls = rows.toReversed().map((row) => () => replay(row.key))
  const text =
    'Each event waits for a worker again, the oldest first, with all of its tries. Handlers that had finished do not run again.'
  return { verb: 'Replay', noun: ['dead letter', 'dead letters'], text, calls, leftOut: new Map() }
}

import type { InboxRow } from '../shapes.ts'
import { api, toPath } from './api.ts'
import { replay } from './inbox.ts'
import { whyNotResent, whyNotRetried } from './list.ts'
import type { PlacedRow } from './rows.ts'
import type { Bulk } from './ui.ts'

const DELIVERIES = ['delivery', 'deliveries'] as const
const RETRY = { verb: 'Retry', text: 'Each gets one more attempt, with the same event id. The oldest goes first.' }
const RESEND = {
  verb: 'Resend',
  text: 'The same bytes go out once more, each as a delivery of its own. The oldest goes first.',
}

/** Retries or resends deliveries, of which the newest is given first. */
export function bulkOf(action: 'retry' | 'resend', rows: readonly PlacedRow[]): Bulk {
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

/** Replays dead letters, of which the oldest is given first. */
export function replaysOf(rows: readonly InboxRow[]): Bulk {
  return {
    verb: 'Replay',
    noun: ['dead letter', 'dead letters'],
    text: 'Each waits again, with fresh tries. Handlers that had finished do not run a second time.',
    calls: rows.map(
      ({ key }) =>
        () =>
          replay(key),
    ),
    leftOut: new Map(),
  }
}

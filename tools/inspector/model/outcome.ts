import type { Row } from '../../emulator/contract.ts'
import { remember, store } from './store.ts'

/** Outcomes of events: the icon, the word, and the value of `status:` that finds them. */
export const OUTCOMES = {
  dead: ['✕', 'dead', 'dead'],
  failed: ['✕', 'failed', 'failed'],
  repaired: ['–', 'failed, then handled by a copy', 'success'],
  retrying: ['↻', 'next try', 'retrying'],
  waiting: ['○', 'first try', 'pending'],
  sending: ['◌', 'sending', 'pending'],
  paused: ['‖', 'paused', 'pending'],
  inbox: ['…', 'in the inbox', 'pending'],
  running: ['◌', 'running', 'pending'],
  handled: ['✓', 'handled', 'success'],
  delivered: ['✓', 'delivered', 'success'],
  ignored: ['–', 'ignored', 'success'],
  dropped: ['–', 'dropped', 'success'],
} as const

export type Outcome = keyof typeof OUTCOMES

export type Status = (typeof OUTCOMES)[Outcome][2]

/** Returns the outcome of the event of a delivery, from the delivery and the inbox of its receiver together. */
export function outcomeOf(row: Row): Outcome {
  if (row.status === 'success') return outcomeOfAnswer(row)
  if (row.status === 'failed') return listRepaired().has(row.id) ? 'repaired' : 'failed'
  if (store.webhook(row.webhook)?.active === false) return 'paused'
  if (row.times.length > 0) return 'retrying'
  return Date.parse(row.nextAt ?? '') <= store.now() ? 'sending' : 'waiting'
}

const BY_CODE: Readonly<Record<string, Outcome>> = {
  accepted: 'inbox',
  handled: 'handled',
  duplicate: 'handled',
  ignored: 'ignored',
}

function outcomeOfAnswer({ last, inbox }: Row): Outcome {
  if (inbox === null) return BY_CODE[last?.code ?? ''] ?? 'delivered'
  if (inbox.state === 'waiting') return inbox.tried > 0 ? 'retrying' : 'inbox'
  return inbox.state === 'gone' ? 'handled' : inbox.state
}

export function statusOf(row: Row): Status {
  return OUTCOMES[outcomeOf(row)][2]
}

/** Deliveries of which a copy was handled, or a copy of a copy. */
const listRepaired: () => ReadonlySet<string> = remember(
  () => [store.rows.all],
  () => {
    const repaired = new Set<string>()
    // The newest first: a copy comes before its original.
    for (const row of store.rows.all)
      if (row.resendOf !== null && row.signing === 'valid' && (isHandled(row) || repaired.has(row.id)))
        repaired.add(row.resendOf)
    return repaired
  },
)

/** Without the inbox of its receiver, an accepted event counts as handled. */
function isHandled(row: Row): boolean {
  if (row.status !== 'success') return false
  const outcome = outcomeOfAnswer(row)
  return outcome === 'handled' || outcome === 'delivered' || row.inbox === null
}

/** Reason why the event was not handled: that of the receiver's worker, or of the last attempt. */
export function reasonOf({ inbox, reason, note }: Row): Row['reason'] {
  return inbox?.reason ?? reason ?? (note === null ? null : { text: note, handlers: [] })
}

/** The type and the reason of an event that was not handled; undefined if it was, or may still be. Equal for all that failed alike. */
export function causeOf(row: Row): string | undefined {
  const reason = reasonOf(row)
  return reason !== null && /^(dead|failed|retrying)$/.test(statusOf(row)) ? `${row.type} · ${reason.text}` : undefined
}

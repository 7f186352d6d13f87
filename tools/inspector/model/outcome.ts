import type { Row } from '../../emulator/contract.ts'
import { OUTCOMES, type Outcome, type Status } from './outcome-words.ts'
import { remember, store } from './store.ts'

/** Returns the outcome of the event of a delivery, from the delivery and the inbox of its receiver together. */
export function outcomeOf(row: Row): Outcome {
  if (row.status === 'success') return outcomeOfAnswer(row)
  if (row.status === 'failed') return isRefused(row) ? 'refused' : listRepaired().has(row.id) ? 'repaired' : 'failed'
  if (listRepaired().has(row.id)) return 'copied'
  if (store.webhook(row.webhook)?.active === false) return 'paused'
  const [later, now] = row.times.length > 0 ? (['retrying', 'resending'] as const) : (['waiting', 'sending'] as const)
  return Date.parse(row.nextAt ?? '') <= store.now() ? now : later
}

function isRefused({ signing, last }: Row): boolean {
  return signing !== 'valid' && /^4\d\d$/.test(last?.result ?? '')
}

const BY_CODE: Readonly<Record<string, Outcome>> = {
  accepted: 'accepted',
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

function isHandled(row: Row): boolean {
  return row.status === 'success' && OUTCOMES[outcomeOfAnswer(row)][0] === '✓'
}

/** Reason why the event was not handled: that of the receiver's worker, or of the last attempt. */
export function reasonOf({ inbox, reason, note }: Row): Row['reason'] {
  return inbox?.reason ?? reason ?? (note === null ? null : { text: note, handlers: [] })
}

export function isFailing(row: Row): boolean {
  return /^(dead|failed|retrying)$/.test(statusOf(row))
}

/** Words with a digit or an @, such as ids and addresses, and quoted texts. Statuses such as 502 and names in single quotes belong to a cause. */
const VALUES =
  /"[^"]*"|`[^`]*`|(?<!\w)'(?![A-Za-z_$]+')[^']*'(?!\w)|(?![45]\d\d(?!\w))(?<!\w)[\w@.:+-]*[\d@][\w@-]*(\.\w+)*/g

const causes = new WeakMap<object, string>()

/** The type and the reason of an event that was not handled; undefined if it was, or may still be. Equal for all whose reasons differ only by values. */
export function causeOf(row: Row): string | undefined {
  const reason = reasonOf(row)
  if (reason === null || !isFailing(row)) return undefined
  const cause = causes.get(reason) ?? `${row.type} · ${reason.text.replace(VALUES, '…')}`
  causes.set(reason, cause)
  return cause
}

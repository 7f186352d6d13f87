import { showDuration } from '../../../src/host/duration.ts'
import type { InboxCounts, InboxState, ListedEntry } from '../../../src/inbox/inbox.ts'
import { MOST_COUNTED } from '../../../src/inbox/inbox.ts'
import { toIso } from '../../../src/protocol/iso-time.ts'
import { toPretty } from '../../wire/json.ts'
import { formatTable, toPrintable } from './print-table.ts'

/** Names of the time of an item, by its state. */
const DUE: Readonly<Record<InboxState, string>> = { dead: 'dead since', waiting: 'next try', running: 'was due' }
const LONGEST_ERROR = 100

export function formatCounts(counts: InboxCounts): string {
  const { waiting, running, dead, oldestDueAt, parked = 0, oldestParkedAt } = counts
  const count = (number: number) => (number < MOST_COUNTED ? number : `${MOST_COUNTED} or more`)
  const ago = (time: number | undefined) => (time === undefined ? undefined : `${showDuration(Date.now() - time)} ago`)
  const rows = Object.entries({ waiting, running, dead }).map(([state, number]) => [state, count(number)])
  const inLanes = parked === 0 ? [] : [['behind another of their lane', count(parked)]]
  const oldest = parked === 0 ? [] : [['oldest of these', ago(oldestParkedAt)]]
  return formatTable(['STATE', 'EVENTS'], [...rows, ['oldest due', ago(oldestDueAt)], ...inLanes, ...oldest])
}

export function formatItems(items: readonly ListedEntry[], state: InboxState): string {
  const rows = items.map(({ key, type, id, receivedAt, dueAt, tries }) => {
    const last = tries.at(-1)
    return [key, type, id, toIso(receivedAt), toIso(dueAt), last?.n ?? 0, last?.code, cut(last?.error)]
  })
  const head = ['KEY', 'TYPE', 'EVENT', 'RECEIVED', DUE[state].toUpperCase(), 'TRIES', 'CODE', 'ERROR']
  return formatTable(head, rows)
}

export function formatItem(item: ListedEntry): string {
  const { key, state, type, id, accountKey, source, lane, behind, receivedAt, since, dueAt, deaths, marks, tries } =
    item
  const rows = [
    ['state', state],
    ['type', type],
    ['event', id],
    ['account', accountKey],
    ['source', source],
    ...(lane === undefined ? [] : [['lane', lane]]),
    ...(behind === undefined ? [] : [['waits behind', behind]]),
    ['received', toIso(receivedAt)],
    ...(since === receivedAt ? [] : [['last queued', toIso(since)]]),
    [DUE[state], toIso(dueAt)],
    ['tries', tries.at(-1)?.n ?? 0],
    ...(deaths === 0 ? [] : [['processes died', deaths]]),
    // The store has those of other events.
    ...(state === 'dead' ? [['finished handlers', marks.join(', ') || 'none']] : []),
    ...(item.trace === undefined ? [] : [['trace', item.trace.traceparent]]),
  ]
  const lines = tries.map(({ n, startedAt, endedAt, code, worker, handlers, error }) => {
    return [n, toIso(startedAt), showDuration(endedAt - startedAt), code, worker, handlers?.join(', '), error]
  })
  const tables = [formatTable(['key', key], rows), ...(lines.length === 0 ? [] : [formatTable(TRY_COLUMNS, lines)])]
  return tables.join('\n\n')
}

const TRY_COLUMNS = ['TRY', 'STARTED', 'TOOK', 'CODE', 'WORKER', 'HANDLERS', 'ERROR']

export function toItemRecord(item: ListedEntry, body?: Uint8Array): object {
  const { key, state, type, id, accountKey, source = null, trace = null, lane = null, behind } = item
  const { receivedAt, since, dueAt, failures, deaths, marks, tries } = item
  return {
    key,
    state,
    eventType: type,
    eventId: id,
    accountKey,
    source,
    trace,
    lane,
    ...(behind && { behind }),
    ...toTimes({ receivedAt, since, dueAt }),
    failures,
    deaths,
    marks,
    tries: tries.map(({ dueAt: due, startedAt, endedAt, ...rest }) => ({
      ...rest,
      ...toTimes({ dueAt: due, startedAt, endedAt }),
    })),
    ...(body && { bodyBase64: Buffer.from(body).toString('base64') }),
  }
}

function toTimes(times: Readonly<Record<string, number>>): Readonly<Record<string, string | null>> {
  return Object.fromEntries(Object.entries(times).map(([name, ms]) => [name, toIso(ms) ?? null]))
}

/** Writes a body with a line for each value, or as it is if it is not JSON. */
export function formatBody(bytes: Uint8Array): string {
  return toPretty(Buffer.from(bytes).toString()).split('\n').map(toPrintable).join('\n')
}

function cut(text = ''): string {
  return text.length > LONGEST_ERROR ? `${text.slice(0, LONGEST_ERROR)}…` : text
}

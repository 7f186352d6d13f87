import { type Inbox, type InboxState, type ListedEntry, MOST_COUNTED, MOST_LISTED } from '../../../src/inbox/inbox.ts'
import { toIso } from '../../../src/protocol/iso-time.ts'
import type { Row } from '../contract.ts'
import { adviseOnStanding } from './advice.ts'
import { toReason } from './reason.ts'

const STATES: readonly InboxState[] = ['waiting', 'running', 'dead']
/** Shortest time for which a list that was read is used again. A list that took long is used for ten times as long. */
const FRESH_MS = 500
/** Time after which an event that is due and not taken is overdue: workers look for events several times a second. */
const OVERDUE_MS = 5_000

/** Events as lines of the list, the newest first. */
interface Listed {
  readonly rows: readonly Row[]
  readonly isWhole: boolean
}

/** The events of an inbox. Engines list a state from its oldest event on, so each is read whole, up to the number that is counted. */
export class InboxList {
  readonly #list: Inbox['list']
  #known: { readonly listed: Promise<Listed>; until: number } | undefined

  constructor(list: Inbox['list']) {
    this.#list = list
  }

  read(): Promise<Listed> {
    if (this.#known !== undefined && performance.now() < this.#known.until) return this.#known.listed
    const began = performance.now()
    const reading = { listed: this.#readAll(), until: Number.POSITIVE_INFINITY }
    this.#known = reading
    reading.listed.then(
      () => {
        reading.until = performance.now() + Math.max(FRESH_MS, 10 * (performance.now() - began))
      },
      () => this.forget(),
    )
    return reading.listed
  }

  /** Reads the list anew from now on, because the inbox was changed. */
  forget(): void {
    this.#known = undefined
  }

  async #readAll(): Promise<Listed> {
    const states = await Promise.all(STATES.map((state) => this.#readState(state)))
    // An event that moved between two states while they were read is in both: the last one holds.
    const entries = new Map(states.flatMap(({ entries }) => entries).map((entry) => [entry.key, entry]))
    const overdue = listOverdue([...entries.values()])
    const rows = [...entries.values()].map((entry) => toRow(entry, overdue.has(entry.key)))
    rows.sort((a, b) => (placeOf(a) < placeOf(b) ? 1 : -1))
    return { rows, isWhole: states.every(({ isWhole }) => isWhole) }
  }

  async #readState(state: InboxState) {
    const entries: ListedEntry[] = []
    let after: string | undefined
    do {
      const page = await this.#list(state, { after, limit: MOST_LISTED })
      entries.push(...page.entries)
      after = page.next
    } while (after !== undefined && entries.length < MOST_COUNTED)
    return { entries, isWhole: after === undefined }
  }
}

/** Lists the keys of events that are due and that no worker takes, if none runs anything: a busy worker takes them later, and one that waits for another event of its lane is not due. */
function listOverdue(entries: readonly ListedEntry[]): ReadonlySet<string> {
  if (entries.some(({ state }) => state === 'running')) return new Set()
  const lanes = new Set<string>()
  const waiting = entries.filter(({ state }) => state === 'waiting').sort((a, b) => a.receivedAt - b.receivedAt)
  const isFirst = ({ lane }: ListedEntry) => lane === undefined || (!lanes.has(lane) && lanes.add(lane))
  const due = waiting.filter(isFirst).filter(({ dueAt }) => Date.now() - dueAt > OVERDUE_MS)
  return new Set(due.map(({ key }) => key))
}

/** Place of an event in the order of time, as a text that can be compared. */
function placeOf({ at, id }: Row): string {
  return `${at ?? ''} ${id}`
}

/** An event as a line of the list: a delivery without a webhook, at the time at which it died, or at which it was accepted. */
export function toRow(entry: ListedEntry, isOverdue = false): Row {
  const { key, state, type, id, accountKey, receivedAt, dueAt, failures, tries } = entry
  const last = tries.at(-1)
  // A try that found the event busy does not say why it failed before.
  const why = tries.findLast(({ error }) => error !== undefined) ?? last
  const reason = why && (state === 'dead' || failures > 0) ? toReason(why.error || why.code, why.handlers) : null
  const putOff =
    last && state === 'waiting' && reason === null ? toReason(last.error || nameCode(last.code)).text : null
  const due = writeInboxTime(dueAt)
  const inbox = { state, key, dueAt: due, failures, tried: last?.n ?? 0, reason, putOff, isOverdue }
  return {
    id: key,
    made: 0,
    change: 0,
    account: accountKey,
    webhook: '',
    event: id,
    type,
    status: 'success',
    signing: 'valid',
    resendOf: null,
    note: null,
    at: state === 'dead' ? due : writeInboxTime(receivedAt),
    nextAt: null,
    times: [],
    last: last
      ? { result: last.code, code: null, isAcknowledged: false, at: writeInboxTime(last.startedAt) ?? '' }
      : null,
    record: null,
    reason: null,
    advice: adviseOnStanding(inbox) ?? null,
    inbox,
  }
}

/** Words for the codes of tries that ran no handler. */
function nameCode(code: string): string {
  if (code === 'busy') return 'busy: another process is handling this event, or no worker of its receiver runs'
  return code === 'store_unavailable' ? 'store_unavailable: the store did not answer' : code
}

/** A time of an engine in ISO 8601; null if it is none. */
export function writeInboxTime(ms: number): string | null {
  return toIso(ms) || null
}

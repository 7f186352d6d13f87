import { type Inbox, type InboxState, type ListedEntry, MOST_COUNTED, MOST_LISTED } from '../../../src/inbox/inbox.ts'
import { dedupKey, siblingKey } from '../../../src/protocol/dedup-key.ts'
import { toIso } from '../../../src/protocol/iso-time.ts'
import { matchType } from '../../wire/match-type.ts'
import type { InboxRow, InboxRowPage } from './inbox-shapes.ts'
import { toReason } from './reason.ts'

/** Events of a page, unless the query has a `limit`. */
const PAGE = 50
/** Shortest time for which a list that was read is used again. A list that took long is used for ten times as long. */
const FRESH_MS = 500

/** The events of a state in the order of the page. */
interface Listed {
  readonly rows: readonly InboxRow[]
  readonly isNewestFirst: boolean
  readonly isWhole: boolean
}

/** The events of an inbox by state. Engines list a state from its oldest event on, so it is read whole, up to the number that is counted. */
export class InboxLists {
  readonly #list: Inbox['list']
  readonly #known = new Map<InboxState, { readonly listed: Promise<Listed>; until: number }>()
  readonly #isWhole = new Map<InboxState, boolean>()
  /** A key of each receiver that was seen: it starts with the receiver's name. */
  readonly #names = new Map([['', dedupKey('default', '', '')]])

  constructor(list: Inbox['list']) {
    this.#list = list
  }

  read(state: InboxState): Promise<Listed> {
    const known = this.#known.get(state)
    if (known !== undefined && performance.now() < known.until) return known.listed
    const began = performance.now()
    const reading = { listed: this.#readAll(state), until: Number.POSITIVE_INFINITY }
    this.#known.set(state, reading)
    reading.listed.then(
      () => {
        reading.until = performance.now() + Math.max(FRESH_MS, 10 * (performance.now() - began))
      },
      () => this.#known.delete(state),
    )
    return reading.listed
  }

  /** Reads all lists anew from now on, because the inbox was changed. */
  forget(): void {
    this.#known.clear()
  }

  /** True if the last read of a state had all of its events, undefined before the first. If all are true, every receiver is known. */
  isWhole(state: InboxState): boolean | undefined {
    return this.#isWhole.get(state)
  }

  listNames(): readonly string[] {
    return [...this.#names.values()]
  }

  async #readAll(state: InboxState): Promise<Listed> {
    const rows: InboxRow[] = []
    let after: string | undefined
    do {
      const page = await this.#list(state, { after, limit: MOST_LISTED })
      for (const { key } of page.entries) this.#names.set(siblingKey(key, '', ''), key)
      rows.push(...page.entries.map(toRow))
      after = page.next
    } while (after !== undefined && rows.length < MOST_COUNTED)
    const isWhole = after === undefined
    this.#isWhole.set(state, isWhole)
    const isNewestFirst = state === 'dead'
    rows.sort((a, b) => (isNewestFirst === placeOf(a) < placeOf(b) ? 1 : -1))
    return { rows, isNewestFirst, isWhole }
  }
}

/** Place of an event in the order of time, as a text that can be compared. */
function placeOf({ dueAt, key }: InboxRow): string {
  return `${dueAt ?? ''} ${key}`
}

type ListQuery = Readonly<Partial<Record<'type' | 'account' | 'cause' | 'after' | 'limit', string>>>

/** The page of a list that a query asks for. */
export function toPage({ rows, isNewestFirst, isWhole }: Listed, query: ListQuery): InboxRowPage {
  const { type = '', account = '', cause = '', after, limit = PAGE } = query
  const isOfType = matchType(type)
  const wanted = rows.filter((row) => isOfType(row.type) && (account === '' || row.account === account))
  const matching = wanted.filter((row) => cause === '' || row.cause === cause)
  const isLater = (row: InboxRow) =>
    after === undefined || (isNewestFirst ? placeOf(row) < after : placeOf(row) > after)
  const rest = matching.filter(isLater)
  const page = rest.slice(0, Number(limit))
  const last = rest.length > page.length ? page.at(-1) : undefined
  return {
    rows: page,
    next: last === undefined ? null : placeOf(last),
    matched: matching.length,
    isWhole,
    types: [...new Set(rows.map((row) => row.type))].sort(),
    accounts: [...new Set(rows.map((row) => row.account))].sort(),
    causes: countCauses(wanted),
  }
}

function countCauses(rows: readonly InboxRow[]): InboxRowPage['causes'] {
  const found = new Map<string, InboxRowPage['causes'][number]>()
  for (const { cause, dueAt } of rows.filter((row) => row.cause !== '')) {
    const { count, first, last } = found.get(cause) ?? { count: 0, first: dueAt, last: dueAt }
    const times = [first, dueAt, last].filter((at) => at !== null).sort()
    found.set(cause, { cause, count: count + 1, first: times.at(0) ?? null, last: times.at(-1) ?? null })
  }
  return [...found.values()].sort((a, b) => b.count - a.count)
}

/** An event as a line of the list. */
export function toRow({ key, state, type, id, accountKey, receivedAt, dueAt, failures, tries }: ListedEntry): InboxRow {
  const last = tries.at(-1)
  const split = splitError(last?.error)
  return {
    key,
    state,
    type,
    event: id,
    account: accountKey,
    failures,
    tried: last?.n ?? 0,
    receivedAt: writeInboxTime(receivedAt),
    dueAt: writeInboxTime(dueAt),
    last: last === undefined ? null : { code: last.code, ...split },
    cause: last === undefined ? '' : `${type} · ${toReason(split.error ?? last.code).text}`,
  }
}

/** Splits the error of a try into what it repeats and what was thrown: `DeadLetter: no such customer`. */
function splitError(error = ''): { readonly error: string | null; readonly handlers: readonly string[] } {
  const [whole = '', names = ''] = /^Handlers of ".*?" failed: (.*?)\. (?=\w+: )/s.exec(error) ?? []
  return { error: error.slice(whole.length) || null, handlers: names.split(', ').filter(Boolean) }
}

/** A time of an engine in ISO 8601; null if it is none. */
export function writeInboxTime(ms: number | undefined): string | null {
  return (ms !== undefined && toIso(ms)) || null
}

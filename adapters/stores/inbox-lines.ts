import {
  type InboxPage,
  type InboxState,
  type Kind,
  type ListOptions,
  MOST_LISTED,
  OptionChecker,
  oneOf,
  TEXT,
  whole,
} from '../../src/engine.ts'

/**
 * The states of a row in the tables of an inbox. Its rows are ordered by `position`, which has another meaning in each state: the turn of a
 * ready row, the due time of a delayed one, the time since when a suspect or dead one is in its state; for a running one, the end of its
 * lease (SQLite) or the number of its worker (Postgres).
 */
export const READY = 0
export const DELAYED = 1
export const RUNNING = 2
/** Two or more workers died while they ran it: it runs alone at first. */
export const SUSPECT = 3
export const DEAD = 4
/** Stands for running rows whose lease has ended: their items wait. */
export const LAPSED = 5

/** Waits until no other item of its lane is ready, delayed, running or a suspect. */
export const PARKED = 6

/** The most rows that one step moves: a hundred thousand due rows must not delay the first. */
export const BATCH = 100
/** The lanes that a worker looks at in a minute for items that nothing releases. */
export const LANES_A_LOOK = 1_000
/** The bytes of bodies that one call moves, unless a single body has more. */
export const MOST_BYTES = 4_194_304
/** Due rows of an account that one step makes ready while others are left. */
export const BATCH_OF_ACCOUNT = 5
/** Accounts that are remembered before all of them are forgotten. An account with a backlog then gets a second turn in each round. */
export const MOST_ACCOUNTS = 100_000

/** Lines that hold the rows of each state, in the order in which they run. */
const LINES: Readonly<Record<InboxState, readonly number[]>> = {
  waiting: [SUSPECT, READY, DELAYED, PARKED, LAPSED],
  running: [RUNNING],
  dead: [DEAD],
}

const check = new OptionChecker('inbox.list')

/** Checks the arguments of an inbox's `list`. Returns an empty `after` for the first page. */
export function checkList(
  state: InboxState,
  options: ListOptions,
  isPlace: (after: string) => boolean,
): { readonly limit: number; readonly after: string } {
  check.mustBe('state', state, oneOf(Object.keys(LINES)))
  check.mustFit(options, { limit: whole(1, MOST_LISTED), after: TEXT })
  const { after, limit = 100 } = options
  if (after === undefined) return { limit, after: '' }
  // It would return an empty page, or the first one.
  if (!isPlace(after)) throw check.invalid(`after is ${JSON.stringify(after)}; give next of a page of the same state.`)
  return { limit, after }
}

/** Ids of events, such as `evt_1` and UUIDs. The key of an event has its lengths and colons, or digests, in it. */
const ID = /^[^\s:#]+[_-][^\s:#]+$|^[^\s:#]{16,}$/
const KEY: Kind = (value) =>
  TEXT(value) ??
  (ID.test(String(value)) ? 'the key of an entry of list(), or of the item of onDeadLetter: this is an id' : undefined)

/** Checks the key of a call of an inbox: another value would mean no item. `get` takes ids, of which it finds none. */
export function checkKey(method: string, key: string): string {
  const kind = method === 'get' ? TEXT : KEY
  if (kind(key) !== undefined) new OptionChecker(`inbox.${method}`).mustBe('key', key, kind)
  return key
}

/** The rows of one line behind a position and a number, each with its own. */
interface Line<Row> {
  read(line: number, position: number, seq: number, most: number): readonly Row[] | Promise<readonly Row[]>
  placeOf(row: Row): readonly unknown[]
  toListed(row: Row): InboxPage['entries'][number]
}

/** Lists the lines of a state. A page begins behind the last row of the page before: its line, position and number. */
export async function listLines<Row>(
  state: InboxState,
  options: ListOptions,
  { read, placeOf, toListed }: Line<Row>,
): Promise<InboxPage> {
  const isPlace = (text: string) => /^\d:\d+:\d+$/.test(text) && LINES[state].includes(Number(text[0]))
  const { limit, after } = checkList(state, options, isPlace)
  const lines = LINES[state]
  const [from = -1, position = 0, seq = 0] = after === '' ? [] : after.split(':').map(Number)
  const rows: { readonly line: number; readonly row: Row }[] = []
  for (const line of lines.slice(Math.max(lines.indexOf(from), 0))) {
    const start = line === from ? ([position, seq] as const) : ([0, 0] as const)
    const page = await read(line, ...start, limit + 1 - rows.length)
    rows.push(...page.map((row) => ({ line, row })))
    if (rows.length > limit) break
  }
  const kept = rows.slice(0, limit)
  const last = kept.at(-1)
  const next = rows.length > limit && last ? [last.line, ...placeOf(last.row)].join(':') : undefined
  return { entries: kept.map(({ row }) => toListed(row)), next }
}

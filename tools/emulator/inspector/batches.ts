import type { ApiCall, Batch } from '../contract.ts'
import type { FeedMessage } from '../feed.ts'
import { describeRow, writeTime } from '../http/describe.ts'
import type { Service } from '../service.ts'

const MOST_CALLS = 500
const MOST_ROWS = 2_000

type Parts = Pick<Service, 'clock' | 'log' | 'bootId' | 'settings' | 'webhooks'>

/** Writes the present position in all changes. */
export function writeCursor(
  { bootId, log }: Pick<Parts, 'bootId' | 'log'>,
  calls: CallLog,
  change = log.lastChange,
): string {
  return `${bootId}.${change}.${calls.lastId}.${calls.stateChanges}`
}

/**
 * Reads what changed after a position. A delivery that changed often is in it once, with its last state. Nothing waits in memory for a page that
 * does not ask.
 *
 * @param after cursor of the batch or of the list that the page has
 */
export function readBatch(parts: Parts, calls: CallLog, after: string): Batch {
  const { clock, log, bootId } = parts
  const [, boot, ...numbers] = /^(\w+)\.(\d+)\.(\d+)\.(\d+)$/.exec(after) ?? []
  // A position of another run is before everything.
  const [change = -1, warning = 0, state = -1] = boot === bootId ? numbers.map(Number) : []
  const changes = log.listChanges(change)
  const rows = (changes ?? []).slice(0, MOST_ROWS)
  const isCut = changes !== undefined && rows.length < changes.length
  return {
    cursor: writeCursor(parts, calls, isCut ? rows.at(-1)?.change : log.lastChange),
    now: writeTime(clock.now()),
    mustReload: changes === undefined,
    isStateNew: state !== calls.stateChanges,
    rows: rows.map((delivery) => describeRow(parts, delivery)),
    warnings: calls.warnings.flatMap(({ id, text }) => (id > warning ? [text] : [])),
    total: log.size,
  }
}

/** The last calls of the service's API and warnings, numbered together, and the number of changes that no delivery shows. */
export class CallLog {
  readonly #calls: ApiCall[] = []
  readonly warnings: { readonly id: number; readonly text: string }[] = []
  /** Number of the last call or warning, even after a reset. */
  lastId = 0
  /** Number of changes of webhooks, which are part of the state, and of resets. */
  stateChanges = 0

  constructor({ feed, clock }: Pick<Service, 'feed' | 'clock'>) {
    feed.subscribe((message: FeedMessage) => {
      if (message.type === 'webhook' || message.type === 'reset') this.stateChanges++
      if (message.type === 'reset') this.#calls.length = 0
      if (message.type === 'warning') keep(this.warnings, { id: ++this.lastId, text: message.message })
      if (message.type !== 'call') return
      const { method, path, status, accountKey: account = null, rateRemaining = null } = message
      const at = writeTime(clock.now())
      keep(this.#calls, { id: ++this.lastId, at, method, path, status, account, rateRemaining })
    })
  }

  /** The newest first. */
  list(): readonly ApiCall[] {
    return this.#calls.toReversed()
  }
}

function keep<T>(all: T[], one: T): void {
  all.push(one)
  if (all.length > MOST_CALLS) all.shift()
}

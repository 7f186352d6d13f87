import type { ApiCall, Batch } from '../contract.ts'
import type { FeedMessage } from '../feed.ts'
import { describeRow, writeTime } from '../http/describe.ts'
import type { Service } from '../service.ts'

const MOST_CALLS = 500
const MOST_ROWS = 2_000
/** Shortest time between batches, so that a burst makes few of them. */
const PAUSE_MS = 250
/** Time without news after which an empty batch shows that the emulator is alive. */
const BEAT_MS = 5_000

type Parts = Pick<Service, 'feed' | 'clock' | 'log' | 'bootId'>

/** Writes the present position in the stream of all changes. */
export function writeCursor({ bootId, log }: Parts, calls: CallLog, change = log.lastChange): string {
  return `${bootId}.${change}.${calls.lastId}`
}

/** Reads a position: the numbers of the last change and of the last call, or numbers before all if it is of another run. */
function readCursor({ bootId }: Parts, cursor: string): readonly [change: number, call: number] {
  const [, boot, ...numbers] = /^(\w+)\.(\d+)\.(\d+)$/.exec(cursor) ?? []
  const [change = -1, call = 0] = boot === bootId ? numbers.map(Number) : []
  return [change, call]
}

/**
 * Reads what changed after a position. A delivery that changed often is in it once, with its last state.
 *
 * @param after cursor of the batch or of the list that the page has
 */
export function readBatch(service: Parts, calls: CallLog, after: string): Batch {
  const { clock, log } = service
  const [change, call] = readCursor(service, after)
  const changes = log.listChanges(change)
  const rows = (changes ?? []).slice(0, MOST_ROWS)
  const isCut = changes !== undefined && rows.length < changes.length
  return {
    cursor: writeCursor(service, calls, isCut ? rows.at(-1)?.change : log.lastChange),
    now: writeTime(clock.now()),
    mustReload: changes === undefined,
    isStateNew: change !== log.lastChange,
    rows: rows.map(describeRow),
    calls: calls.list().filter(({ id }) => id > call),
    warnings: [],
    total: log.size,
  }
}

/** Reads one batch after the other. Nothing but the last position waits in memory for a page that does not read. */
export function createBatches(service: Parts, calls: CallLog, after = writeCursor(service, calls)) {
  const { feed, log } = service
  let cursor = after
  let isClockNew = false
  let isStateNew = readCursor(service, after)[0] !== log.lastChange
  let warnings: string[] = []
  let isStopped = false
  let wake = () => {}
  const unsubscribe = feed.subscribe((message) => {
    if (message.type === 'clock') isClockNew = true
    if (message.type === 'webhook' || message.type === 'reset') isStateNew = true
    if (message.type === 'warning') warnings = [...warnings, message.message].slice(-MOST_CALLS)
    wake()
  })
  const hasNews = () =>
    [isStopped, isClockNew, isStateNew, warnings.length > 0].includes(true) || cursor !== writeCursor(service, calls)
  const wait = (ms: number, isEnough: () => boolean) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      wake = () => {
        if (!isEnough()) return
        clearTimeout(timer)
        resolve()
      }
    })
  let lastAt = 0
  return {
    /** Returns the next batch, after a while an empty one; undefined after `stop`. */
    async next(): Promise<Batch | undefined> {
      if (!hasNews()) await wait(BEAT_MS, hasNews)
      const pauseMs = lastAt + PAUSE_MS - performance.now()
      if (pauseMs > 0 && !isStopped) await wait(pauseMs, () => isStopped)
      if (isStopped) return undefined
      lastAt = performance.now()
      const batch: Batch = { ...readBatch(service, calls, cursor), isStateNew, warnings }
      cursor = batch.cursor
      isClockNew = false
      isStateNew = false
      warnings = []
      return batch
    },
    stop() {
      isStopped = true
      unsubscribe()
      wake()
    },
  }
}

export class CallLog {
  readonly #calls: ApiCall[] = []
  #lastId = 0

  constructor({ feed, clock }: Pick<Service, 'feed' | 'clock'>) {
    feed.subscribe((message: FeedMessage) => {
      if (message.type === 'reset') this.#calls.length = 0
      if (message.type !== 'call') return
      const { method, path, status, accountKey: account = null, rateRemaining = null } = message
      this.#calls.push({ id: ++this.#lastId, at: writeTime(clock.now()), method, path, status, account, rateRemaining })
      if (this.#calls.length > MOST_CALLS) this.#calls.shift()
    })
  }

  list(): readonly ApiCall[] {
    return this.#calls.toReversed()
  }

  /** Id of the last call, even after a reset. */
  get lastId(): number {
    return this.#lastId
  }
}

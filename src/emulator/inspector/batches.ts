import type { ApiCall, Batch, Notice, Row } from '../contract.ts'
import type { FeedMessage } from '../feed.ts'
import { describeRow, writeTime } from '../http/describe.ts'
import type { Service } from '../service.ts'

const MOST_CALLS = 500
const MOST_ROWS = 2_000
const MOST_NOTICES = 500
/** Limit for a page that does not read; the emulator keeps as many. */
const MOST_CHANGED = 10_000
/** Shortest time between batches, so that a burst makes few of them. */
const PAUSE_MS = 50
/** Time without news after which an empty batch shows that the emulator is alive. */
const BEAT_MS = 5_000

/** Collects changes until the page reads them. A delivery that changes often is sent once, with its last state. */
export function createBatches({ feed, clock }: Pick<Service, 'feed' | 'clock'>, calls: CallLog) {
  const changed = new Map<string, Row>()
  let notices: Notice[] = []
  let isStopped = false
  let wake = () => {}
  // Rows instead of deliveries, which would keep their bodies after the emulator has dropped them.
  const put = (row: Row) => {
    changed.set(row.id, row)
    const [oldest] = changed.keys()
    if (changed.size > MOST_CHANGED && oldest !== undefined) changed.delete(oldest)
  }
  const unsubscribe = feed.subscribe((message) => {
    if ('delivery' in message) put(describeRow(message.delivery))
    if (message.type === 'reset') changed.clear()
    const notice = toNotice(message, calls)
    if (notice !== undefined) notices.push(notice)
    if (notices.length > MOST_NOTICES) notices.shift()
    wake()
  })
  const hasNews = () => isStopped || changed.size > 0 || notices.length > 0
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
      const rows = [...changed.values()].slice(0, MOST_ROWS)
      for (const { id } of rows) changed.delete(id)
      const batch = { now: writeTime(clock.now()), notices, rows }
      notices = []
      return batch
    },
    stop() {
      isStopped = true
      unsubscribe()
      wake()
    },
  }
}

function toNotice(message: FeedMessage, calls: CallLog): Notice | undefined {
  switch (message.type) {
    case 'call':
      return calls.latest && { type: 'call', call: calls.latest }
    case 'webhook':
      return { type: 'webhook', change: message.change, webhookId: message.webhookId }
    case 'clock':
      return { type: 'clock' } // the batch has the time
    case 'reset':
    case 'warning':
      return message
    default:
      return undefined
  }
}

export class CallLog {
  readonly #calls: ApiCall[] = []

  constructor({ feed, clock }: Pick<Service, 'feed' | 'clock'>) {
    let count = 0
    feed.subscribe((message) => {
      if (message.type === 'reset') this.#calls.length = 0
      if (message.type !== 'call') return
      const { method, path, status, accountKey: account = null, rateRemaining = null } = message
      this.#calls.push({ id: ++count, at: writeTime(clock.now()), method, path, status, account, rateRemaining })
      if (this.#calls.length > MOST_CALLS) this.#calls.shift()
    })
  }

  list(): readonly ApiCall[] {
    return this.#calls.toReversed()
  }

  /** Returns the latest call: in a listener that was added later, the one that a message reports. */
  get latest(): ApiCall | undefined {
    return this.#calls.at(-1)
  }
}

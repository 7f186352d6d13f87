import { systemClock } from '../../../src/host/clock.ts'
import { waitFor } from '../../../src/host/wait-for.ts'
import { siblingKey } from '../../../src/protocol/dedup-key.ts'
import { readCode } from '../../wire/code-word.ts'
import type { Standing, StoredDelivery } from '../delivery.ts'
import type { DeliveryLog } from '../delivery-log.ts'
import type { InboxView } from '../options.ts'
import { InboxList } from './inbox-list.ts'

/** Shortest time between two reads of the inbox. */
const READ_EVERY_MS = 1_000
/** Limit of the events that are looked for one by one in a read, and the longest time for which the list of the page waits for one. */
const MOST_ASKED = 500
const LONGEST_WAIT_MS = 2_000

/** Notes for each accepted delivery the place of its event in the inbox of the receiver, whenever a page asks for changes. */
export class Standings {
  readonly list: InboxList
  readonly #inbox: InboxView
  readonly #log: DeliveryLog
  #reading: Promise<void> | undefined
  #nextAt = 0

  constructor(inbox: InboxView, log: DeliveryLog) {
    this.list = new InboxList((state, options) => inbox.list(state, options))
    this.#inbox = inbox
    this.#log = log
  }

  /** Reads the inbox, unless that was done just now. If it cannot be read, what is known stays. */
  async refresh(): Promise<void> {
    if (performance.now() >= this.#nextAt)
      this.#reading ??= this.#read()
        .catch(() => {})
        .finally(() => {
          this.#nextAt = performance.now() + READ_EVERY_MS
          this.#reading = undefined
        })
    if (this.#reading !== undefined) await waitFor(systemClock, this.#reading, LONGEST_WAIT_MS, ignore, ignore)
  }

  /** The user replayed or dropped an event. */
  onAction(action: 'replay' | 'drop', key: string): void {
    this.#nextAt = 0
    if (action === 'replay') return
    for (const delivery of this.#log.list())
      if (delivery.standing?.key === key) this.#note(delivery, { ...delivery.standing, state: 'dropped', reason: null })
  }

  async #read(): Promise<void> {
    const accepted = this.#log.list().filter(isAccepted)
    if (accepted.length === 0) return
    const { rows } = await this.list.read()
    const found = new Map(rows.map(({ account, event, inbox }) => [nameEvent(account, event), inbox]))
    const missing: StoredDelivery[] = []
    for (const delivery of accepted) {
      const standing = found.get(nameEvent(delivery.accountKey, delivery.eventId))
      if (standing) this.#note(delivery, standing)
      else if (!/^(gone|dropped)$/.test(delivery.standing?.state ?? '')) missing.push(delivery)
    }
    // An event that moved between two lists while they were read is in neither.
    for (const delivery of missing.slice(-MOST_ASKED)) {
      const keys = delivery.standing ? [delivery.standing.key] : this.#listKeys(delivery)
      const entries = await Promise.all(keys.map((key) => this.#inbox.get(key)))
      const [key = ''] = keys
      if (entries.every((entry) => entry === undefined))
        this.#note(delivery, { state: 'gone', key, dueAt: null, failures: 0, tried: 0, reason: null })
    }
  }

  #listKeys({ accountKey, eventId }: StoredDelivery): readonly string[] {
    return this.list.listNames().map((name) => siblingKey(name, accountKey, eventId))
  }

  #note(delivery: StoredDelivery, standing: Standing): void {
    if (JSON.stringify(delivery.standing) !== JSON.stringify(standing)) this.#log.place(delivery, standing)
  }
}

/** Returns true for a delivery whose event is or was in the inbox: a receiver answers `duplicate` to one that is there. */
function isAccepted({ status, attempts }: StoredDelivery): boolean {
  return status === 'success' && /^(accepted|duplicate)$/.test(readCode(attempts.at(-1)?.responseBody ?? '') ?? '')
}

function nameEvent(account: string, event: string): string {
  return JSON.stringify([account, event])
}

const ignore = () => {}

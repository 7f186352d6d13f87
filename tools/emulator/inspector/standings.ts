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

/** Notes for each accepted delivery the place of its event in the inbox, if its receiver uses that inbox, whenever a page asks for changes. */
export class Standings {
  readonly list: InboxList
  readonly #inbox: InboxView
  readonly #log: DeliveryLog
  /** URLs of receivers that use the inbox, as was proven, and the starts of the keys of their events. */
  readonly #users = new Map<string, Set<string>>()
  #reading: Promise<void> | undefined
  #nextAt = 0
  #actions = 0

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
    this.#actions++
    const change =
      action === 'drop'
        ? ({ state: 'dropped', reason: null } as const)
        : ({ state: 'waiting', dueAt: new Date().toISOString() } as const)
    for (const delivery of this.#log.list())
      if (delivery.standing?.key === key) this.#note(delivery, { ...delivery.standing, ...change })
  }

  async #read(): Promise<void> {
    const accepted = this.#log.list().filter(isAccepted)
    if (accepted.length === 0) return
    const actions = this.#actions
    const { rows } = await this.list.read()
    // What was read before an action may no longer hold.
    if (actions !== this.#actions) return this.#read()
    const found = new Map<string, Standing[]>()
    for (const { account, event, inbox } of rows) {
      const name = nameEvent(account, event)
      if (inbox !== null) found.set(name, [...(found.get(name) ?? []), inbox])
    }
    this.#findUsers(found)
    const urls = new Set(accepted.map(urlOf))
    const missing: StoredDelivery[] = []
    for (const delivery of accepted) {
      const keys = this.#users.get(urlOf(delivery))
      const isOurs = keys !== undefined || (this.#users.size === 0 && urls.size === 1)
      const standing = found.get(nameOf(delivery))?.find(({ key }) => keys?.has(startOf(key)))
      if (!isOurs) this.#note(delivery, undefined)
      else if (standing) this.#note(delivery, standing)
      else if (!/^(gone|left|dropped)$/.test(delivery.standing?.state ?? '')) missing.push(delivery)
    }
    // An event that moved between two lists while they were read is in neither.
    for (const delivery of missing.slice(-MOST_ASKED)) {
      const keys = delivery.standing ? [delivery.standing.key] : this.#listKeys(delivery)
      const entries = await Promise.all(keys.map((key) => this.#inbox.get(key)))
      if (entries.every((entry) => entry === undefined)) this.#note(delivery, endOf(delivery.standing, keys[0]))
    }
  }

  /** A receiver uses the inbox if an event is there that no other can have put there. Other receivers may have inboxes of their own. */
  #findUsers(found: ReadonlyMap<string, readonly Standing[]>): void {
    const takers = new Map<string, Set<string>>()
    for (const delivery of this.#log.list()) {
      const name = nameOf(delivery)
      if (found.has(name) && isMaybeTaken(delivery))
        takers.set(name, (takers.get(name) ?? new Set()).add(urlOf(delivery)))
    }
    for (const [name, [url = '', ...others]] of takers) {
      const [standing, ...more] = found.get(name) ?? []
      if (standing === undefined || others.length + more.length > 0) continue
      this.#users.set(url, (this.#users.get(url) ?? new Set()).add(startOf(standing.key)))
    }
  }

  #listKeys(delivery: StoredDelivery): readonly string[] {
    const { accountKey, eventId } = delivery
    const starts = this.#users.get(urlOf(delivery)) ?? this.list.listNames()
    return [...starts].map((start) => siblingKey(start, accountKey, eventId))
  }

  #note(delivery: StoredDelivery, standing: Standing | undefined): void {
    if (JSON.stringify(delivery.standing) !== JSON.stringify(standing)) this.#log.place(delivery, standing)
  }
}

function isAccepted({ status, attempts }: StoredDelivery): boolean {
  return status === 'success' && readCode(attempts.at(-1)?.responseBody ?? '') === 'accepted'
}

/** Returns true if the receiver may have put the event into its inbox: it has accepted it, or its answer was not received. */
function isMaybeTaken({ isInFlight, attempts }: StoredDelivery): boolean {
  return (
    isInFlight ||
    attempts.some(
      ({ failure = '', responseBody }) => /timeout|reset/.test(failure) || readCode(responseBody) === 'accepted',
    )
  )
}

/** The end of an event that is not in the inbox any more. A dead letter, or one that was to be tried again later, has run only if it was replayed. */
function endOf(seen: Standing | undefined, key = ''): Standing {
  const isLater = seen?.state === 'waiting' && seen.tried > 0 && Date.parse(seen.dueAt ?? '') > Date.now()
  if (seen?.state === 'dead' || isLater) return { ...seen, state: 'left' }
  return { state: 'gone', key, dueAt: null, failures: 0, tried: 0, reason: null }
}

/** The start of a key, which names its receiver. */
function startOf(key: string): string {
  return siblingKey(key, '', '')
}

function urlOf({ attempts }: StoredDelivery): string {
  return attempts.at(-1)?.url ?? ''
}

function nameOf({ accountKey, eventId }: StoredDelivery): string {
  return nameEvent(accountKey, eventId)
}

function nameEvent(account: string, event: string): string {
  return JSON.stringify([account, event])
}

const ignore = () => {}

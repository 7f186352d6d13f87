import { systemClock } from '../../../src/host/clock.ts'
import { waitFor } from '../../../src/host/wait-for.ts'
import { dedupKey, siblingKey } from '../../../src/protocol/dedup-key.ts'
import { type AcceptedInto, readAcceptedInto, readCode } from '../../wire/code-word.ts'
import type { Standing, StoredDelivery } from '../delivery.ts'
import type { DeliveryLog, Placed } from '../delivery-log.ts'
import type { Feed, FeedMessage } from '../feed.ts'
import type { Journal } from '../journal.ts'
import type { InboxView } from '../options.ts'
import { InboxList } from './inbox-list.ts'
import { isSamePlace, writePlace } from './inbox-place.ts'

/** Shortest time between two reads of the inbox, and the longest one while an event in it is not done and nothing changes. */
const READ_EVERY_MS = 1_000
const READ_AT_LEAST_MS = 16_000
/** Limit of the events that are looked for one by one in a read, and the longest time for which the list of the page waits for one. */
const MOST_ASKED = 500
const LONGEST_WAIT_MS = 2_000

/** Entry of the journal with the place of the inbox that its standings are of. */
const SHOWN = 'inbox'

interface StandingsParts {
  readonly log: DeliveryLog
  readonly feed: Feed
  readonly journal: Journal
}

/** Keeps for each accepted delivery the place of its event in the inbox, if its receiver uses that inbox, with or without a page that asks for it. */
export class Standings {
  readonly list: InboxList
  readonly #inbox: InboxView
  readonly #parts: StandingsParts
  /** URLs of receivers that use the inbox, as was proven, and the starts of the keys of their events. */
  readonly #users = new Map<string, Set<string>>()
  /** Deliveries of an earlier run: the end of their events may not have been seen. */
  readonly #earlier: WeakSet<StoredDelivery>
  /** Inboxes that receivers have named, to be compared with the one that is shown, and those that a warning has named. */
  readonly #named = new Map<string, AcceptedInto>()
  readonly #warned = new Set<string>()
  #shown: string | undefined
  #reading: Promise<void> | undefined
  #nextAt = 0
  #actions = 0
  #delayMs = READ_EVERY_MS
  #timer: ReturnType<typeof setTimeout> | undefined
  #isClosed = false
  readonly #unsubscribe: () => void

  constructor(inbox: InboxView, parts: StandingsParts) {
    this.list = new InboxList((state, options) => inbox.list(state, options))
    this.#inbox = inbox
    this.#parts = parts
    this.#shown = parts.journal.loadMeta(SHOWN)
    const earlier = parts.log.list()
    this.#earlier = new WeakSet(earlier)
    for (const delivery of earlier) if (delivery.standing) this.#addUser(urlOf(delivery), delivery.standing.key)
    this.#unsubscribe = parts.feed.subscribe((message) => this.#onMessage(message))
    this.#plan()
  }

  /** Reads the inbox, unless that was done just now. If it cannot be read, what is known stays. */
  async refresh(): Promise<void> {
    if (performance.now() >= this.#nextAt)
      this.#reading ??= this.#read()
        .catch(() => {})
        .finally(() => {
          this.#nextAt = performance.now() + READ_EVERY_MS
          this.#reading = undefined
          this.#warn()
        })
    if (this.#reading !== undefined) await waitFor(systemClock, this.#reading, LONGEST_WAIT_MS, ignore, ignore)
  }

  /** The user replayed or dropped an event. */
  onAction(action: 'replay' | 'drop', key: string): void {
    const dropped = { state: 'dropped', reason: null, putOff: null, isOverdue: false } as const
    this.#change(key, action === 'drop' ? dropped : waitsNow())
  }

  close(): void {
    this.#isClosed = true
    this.#unsubscribe()
    clearTimeout(this.#timer)
  }

  #onMessage(message: FeedMessage): void {
    if (message.type !== 'attempt' || readCode(message.attempt.responseBody) !== 'accepted') return
    const { delivery, attempt } = message
    const into = readAcceptedInto(attempt.responseBody)
    if (into !== undefined) this.#named.set(attempt.url, into)
    const stored = this.#parts.log.find(delivery.id)
    if (stored !== undefined) this.#earlier.delete(stored)
    // A dead letter waits again if its event is accepted again.
    const original = this.#parts.log.find(delivery.resendOf ?? '')?.standing
    if (original?.state === 'dead') this.#change(original.key, waitsNow())
    this.#delayMs = READ_EVERY_MS
    this.#plan()
  }

  #change(key: string, change: Partial<Standing>): void {
    this.#nextAt = 0
    this.#actions++
    const changed = this.#parts.log.list().filter(({ standing }) => standing?.key === key)
    this.#place(changed.flatMap((each) => (each.standing ? [[each, { ...each.standing, ...change }]] : [])))
    this.#delayMs = READ_EVERY_MS
    this.#plan()
  }

  /** Reads the inbox again as long as an event in it is not done: more rarely if nothing changes. */
  #plan(): void {
    clearTimeout(this.#timer)
    if (this.#isClosed) return
    if (this.#delayMs > READ_AT_LEAST_MS && !this.#parts.log.list().some(isMoving)) return
    this.#timer = setTimeout(
      () => {
        const { lastChange } = this.#parts.log
        this.refresh().finally(() => {
          this.#delayMs = lastChange === this.#parts.log.lastChange ? this.#delayMs * 2 : READ_EVERY_MS
          this.#plan()
        })
      },
      Math.min(this.#delayMs, READ_AT_LEAST_MS),
    )
    this.#timer.unref()
  }

  async #read(): Promise<void> {
    const accepted = this.#parts.log.list().filter(isAccepted)
    if (accepted.length === 0) return
    const actions = this.#actions
    const { rows } = await this.list.read()
    // What was read before an action may no longer hold.
    if (actions !== this.#actions) return this.#read()
    this.#compareShown()
    const found = new Map<string, Standing[]>()
    for (const { account, event, inbox } of rows) {
      const name = nameEvent(account, event)
      if (inbox !== null) found.set(name, [...(found.get(name) ?? []), inbox])
    }
    this.#findUsers(found)
    const places: Placed[] = []
    const missing: [StoredDelivery, readonly string[]][] = []
    for (const delivery of accepted) {
      const starts = this.#listStarts(delivery)
      const standing = found.get(nameOf(delivery))?.find(({ key }) => starts.has(startOf(key)))
      if (starts.size === 0 || standing) places.push([delivery, standing])
      else if (!/^(gone|left|dropped)$/.test(delivery.standing?.state ?? '')) {
        const { accountKey, eventId, standing: seen } = delivery
        missing.push([delivery, seen ? [seen.key] : [...starts].map((start) => siblingKey(start, accountKey, eventId))])
      }
    }
    // An event that moved between two lists while they were read is in neither.
    for (const [delivery, keys] of missing.slice(-MOST_ASKED)) {
      const entries = await Promise.all(keys.map((key) => this.#inbox.get(key)))
      if (actions !== this.#actions) break
      if (entries.every((entry) => entry === undefined))
        places.push([delivery, endOf(delivery.standing, this.#earlier.has(delivery), keys[0])])
    }
    this.#place(places)
  }

  /** Forgets what was seen in another inbox, which an earlier run has shown. */
  #compareShown(): void {
    const shown = this.#inbox.commandOptions?.join(' ')
    if (shown === undefined || shown === this.#shown) return
    const { journal, log } = this.#parts
    if (this.#shown !== undefined) {
      this.#users.clear()
      this.#place(log.list().map((delivery) => [delivery, undefined]))
    }
    this.#shown = shown
    journal.save('meta', SHOWN, shown)
  }

  /** A receiver uses the inbox if an event is there that no other can have put there. Other receivers may have inboxes of their own. */
  #findUsers(found: ReadonlyMap<string, readonly Standing[]>): void {
    const takers = new Map<string, Set<string>>()
    for (const delivery of this.#parts.log.list()) {
      const name = nameOf(delivery)
      if (found.has(name) && isMaybeTaken(delivery))
        takers.set(name, (takers.get(name) ?? new Set()).add(urlOf(delivery)))
    }
    for (const [name, [url = '', ...others]] of takers) {
      const [standing, ...more] = found.get(name) ?? []
      if (standing !== undefined && others.length + more.length === 0) this.#addUser(url, standing.key)
    }
  }

  #addUser(url: string, key: string): void {
    this.#users.set(url, (this.#users.get(url) ?? new Set()).add(startOf(key)))
  }

  /** Starts of the keys that the event has in the inbox, if its receiver uses that inbox: as the receiver says, or as was proven. */
  #listStarts(delivery: StoredDelivery): ReadonlySet<string> {
    const into = readAcceptedInto(delivery.attempts.at(-1)?.responseBody ?? '')
    const isShown = into && isSamePlace(into.place, this.#inbox.commandOptions ?? ['…'])
    if (into && isShown) return new Set([startOf(dedupKey(into.name, '', ''))])
    return this.#users.get(urlOf(delivery)) ?? NO_STARTS
  }

  /** Warns once of each inbox that takes events, and is not the one that is shown. */
  #warn(): void {
    const { commandOptions: shown } = this.#inbox
    if (shown === undefined) return
    for (const [url, { place }] of this.#named) {
      const name = writePlace(place)
      if (this.#users.has(url) || this.#warned.has(name) || isSamePlace(place, shown) !== false) continue
      this.#warned.add(name)
      const fix = `If they are not the same, start with --inbox ${name}`
      this.#parts.feed.warn(
        `the app accepts events into the inbox ${name}, and the inbox shown is ${writePlace(shown)}. ${fix}`,
      )
    }
  }

  #place(places: readonly Placed[]): void {
    const { log, feed } = this.#parts
    try {
      log.place(places.filter(([{ standing }, next]) => JSON.stringify(standing) !== JSON.stringify(next)))
    } catch (error) {
      feed.warn(`the places of events in the inbox could not be written to the database: ${String(error)}`)
    }
  }
}

const NO_STARTS: ReadonlySet<string> = new Set()

function isAccepted({ status, attempts }: StoredDelivery): boolean {
  return status === 'success' && readCode(attempts.at(-1)?.responseBody ?? '') === 'accepted'
}

/** Returns true if the event was seen in the inbox, and will be gone or dead. */
function isMoving({ standing }: StoredDelivery): boolean {
  return standing?.state === 'waiting' || standing?.state === 'running'
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

const waitsNow = () => ({ state: 'waiting', dueAt: new Date().toISOString() }) as const

/** The end of an event that is not in the inbox any more. A dead letter, or one that was to be tried again later, was dropped or replayed: its reason stays. */
function endOf(seen: Standing | undefined, isEarlier: boolean, key = ''): Standing {
  const isLater = seen?.state === 'waiting' && seen.tried > 0 && Date.parse(seen.dueAt ?? '') > Date.now()
  const none = { key, dueAt: null, failures: 0, tried: 0, reason: null, putOff: null, isOverdue: false } as const
  if (seen?.state === 'dead' || isLater) return { ...none, ...seen, state: 'left' }
  return { ...none, state: isEarlier ? 'left' : 'gone' }
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
